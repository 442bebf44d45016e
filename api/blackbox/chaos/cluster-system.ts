// Runs the cluster profile: three engines, two ingresses and two APIs, each a process, on real servers with stand-ins for
// EMQX and ClickHouse. Each node reaches each server over its own connection, which can be cut, so that one node may be
// isolated while the others are well. Their clocks differ.
import { join } from 'node:path'
import { until } from '../../../bench/measure/deadline.ts'
import type { S3Server } from '../../../engine/adapters/blobs/testing/s3-server.ts'
import { EMQX_HOME } from '../../../engine/adapters/broker/testing/emqx/real-emqx.ts'
import { ClusterServers } from '../testing/cluster.ts'
import { CrashFolder } from './crash-folder.ts'
import type { FaultKind } from './faults.ts'
import type { Target } from './nemesis.ts'
import { halt, signal } from './processes.ts'
import { Program, SERVICE_MAIN, SKEWED_CLOCK } from './program.ts'
import { LinkTarget, NOWHERE, type System, type SystemOptions, unwell } from './system.ts'

const NODES = [
  { name: 'engine-1', roles: 'engine', skewMs: 0 },
  { name: 'engine-2', roles: 'engine', skewMs: 1_500 },
  { name: 'engine-3', roles: 'engine', skewMs: -900 },
  { name: 'ingress-1', roles: 'ingress', skewMs: 0 },
  { name: 'ingress-2', roles: 'ingress', skewMs: -1_200 },
  { name: 'api-1', roles: 'api', skewMs: 0 },
  { name: 'api-2', roles: 'api', skewMs: 700 },
] as const
const SKEW_MS =
  Math.max(...NODES.map(({ skewMs }) => skewMs)) - Math.min(...NODES.map(({ skewMs }) => skewMs))
/** Links that the nemesis may break. An engine without Redis or ClickHouse gives its devices to others after a while. */
const HAUNTED_LINKS = [
  'engine-1>nats',
  'engine-2>redis',
  'engine-3>mqtt',
  'engine-1>clickhouse',
  'ingress-1>mqtt',
  'ingress-2>nats',
  'api-1>nats',
]
/**
 * The stand-in acknowledges a device's message after the republished one is acknowledged. If it is killed, it may lose
 * whatever happened since it last wrote its file. EMQX itself keeps the queues of the ingress in memory.
 */
const BROKER_LOSS_MS = 1_000

const STARTED_MS = 30_000

const SERVERS = ['nats', 'redis', 'mqtt', 'clickhouse'] as const
type ServerName = (typeof SERVERS)[number]

export async function openClusterSystem(options: SystemOptions): Promise<System> {
  const { folder, logs, recorder, losesData } = options
  const telemetry = CrashFolder.open(join(folder, 'disks'), join(folder, 'telemetry'))
  const servers = await ClusterServers.start({ telemetryDir: telemetry?.path })
  let isFirst = true
  // Devices download from either API node, as behind a balancer, and come back to the other one if it is away.
  const downloads = await LinkTarget.open('downloads', () => {
    isFirst = !isFirst
    const [one, other] = nodes.filter(({ door }) => door !== undefined)
    return new URL((isFirst ? one : other)?.url() ?? `http://${NOWHERE}`).host
  })
  const parts: Parts = { servers, logs, recorder, downloadUrl: `http://${downloads.proxy.url}` }
  const nodes: readonly Node[] = await Promise.all(NODES.map((node) => startNode(node, parts)))
  const devices = await LinkTarget.open('device-link', () => `127.0.0.1:${servers.broker.devicePort}`)
  const links = nodes.flatMap((node) => [...node.links.values()])
  const targets: readonly Target[] = [
    ...nodes.map(({ program }) => program),
    ...serverTargets(servers, { losesData, telemetry }),
    devices,
    downloads,
  ]
  const haunted = links.filter(({ name }) => HAUNTED_LINKS.includes(name))
  const doors = nodes.flatMap(({ door }) => (door === undefined ? [] : [door]))
  const [host = '', port] = devices.proxy.url.split(':')
  return {
    promises: {
      isPubackDurable: false,
      brokerLossMs: BROKER_LOSS_MS,
      losesQueues: EMQX_HOME !== undefined,
      isFeedLossless: false,
      clockSkewMs: SKEW_MS,
    },
    nodes: doors.map(({ name, proxy }) => ({ name, url: () => `http://${proxy.url}` })),
    mqtt: () => ({ host, port: Number(port) }),
    hasFirmware: servers.s3 !== undefined,
    targets: [...targets, ...haunted, ...doors],
    lacking: async () => {
      const asked = nodes.map(({ program, url }) =>
        program.isReady ? unwell(program.name, url()) : `${program.name} (starting)`,
      )
      return (await Promise.all(asked)).filter((why) => why !== undefined)
    },
    close: async () => {
      await Promise.all(nodes.map(({ program }) => program.close()))
      for (const { proxy } of [...links, ...doors, devices, downloads]) proxy.close()
      await servers.stop()
      telemetry?.close()
    },
    abandon: () => {
      for (const { program } of nodes) program.abandon()
      // Every process gets its signal before any of them is awaited.
      void servers.s3?.kill()
      void servers.nats.kill()
      void servers.redis.kill()
      void servers.broker.kill9()
      signal(servers.clickhouse.pid, 'SIGKILL')
      telemetry?.close()
    },
  }
}

interface Parts {
  readonly servers: ClusterServers
  readonly logs: string
  /** Where devices download images. */
  readonly downloadUrl: string
  readonly recorder: SystemOptions['recorder']
}

interface Node {
  readonly program: Program
  readonly links: ReadonlyMap<ServerName, LinkTarget>
  /** The link of an API node, through which its callers connect. */
  readonly door: LinkTarget | undefined
  readonly url: () => string
}

async function startNode({ name, roles, skewMs }: (typeof NODES)[number], parts: Parts): Promise<Node> {
  const { servers, logs, recorder } = parts
  const links = new Map<ServerName, LinkTarget>()
  for (const server of SERVERS)
    links.set(
      server,
      await LinkTarget.open(`${name}>${server}`, () => ADDRESSES[server](servers), roles === 'engine'),
    )
  let url = `http://${NOWHERE}`
  const door = roles === 'api' ? await LinkTarget.open(`${name}-door`, () => new URL(url).host) : undefined
  const program = new Program({
    name,
    args: ['--import', SKEWED_CLOCK, SERVICE_MAIN],
    env: {
      ...servers.settings,
      ...linkSettings(servers, links),
      FLEET_OTA_PUBLIC_URL: parts.downloadUrl,
      FLEET_ROLES: roles,
      FLEET_NODE_NAME: name,
      CHAOS_SKEW_MS: String(skewMs),
      FLEET_HTTP_PORT: '0',
      FLEET_LOG_LEVEL: 'info',
      FLEET_USER_REQUEST_RATE: '0',
      FLEET_DEVICE_REQUEST_RATE: '0',
      FLEET_ANONYMOUS_REQUEST_RATE: '0',
      FLEET_USER_WORK_RATE: '0',
    },
    kinds: ['kill', 'kill', 'kill', 'pause', 'pause', 'stop'],
    logs,
    recorder,
    onReady: ({ http_url: httpUrl }) => {
      url = String(httpUrl)
    },
  })
  program.start()
  return { program, links, door, url: () => url }
}

/** The stand-in of ClickHouse may have another port after a restart. */
const ADDRESSES: Readonly<Record<ServerName, (servers: ClusterServers) => string>> = {
  nats: ({ nats }) => nats.url,
  redis: ({ redis }) => new URL(redis.url).host,
  mqtt: ({ broker }) => new URL(broker.url).host,
  clickhouse: ({ clickhouse }) => new URL(clickhouse.endpoint().url).host,
}

/** Settings of a node, with the links in place of the servers' addresses. */
function linkSettings({ settings }: ClusterServers, links: Node['links']): Readonly<Record<string, string>> {
  const by = (url: string, server: ServerName) => {
    const host = new URL(url).host
    return url.replace(host, links.get(server)?.proxy.url ?? host)
  }
  return {
    FLEET_NATS_URL: by(settings.FLEET_NATS_URL, 'nats'),
    FLEET_REDIS_URL: by(settings.FLEET_REDIS_URL, 'redis'),
    FLEET_MQTT_URL: by(settings.FLEET_MQTT_URL, 'mqtt'),
    FLEET_CLICKHOUSE_URL: by(settings.FLEET_CLICKHOUSE_URL, 'clickhouse'),
  }
}

function serverTargets(
  { nats, redis, broker, clickhouse, s3 }: ClusterServers,
  { losesData, telemetry }: { readonly losesData: boolean; readonly telemetry: CrashFolder | undefined },
): readonly Target[] {
  return [
    ...(s3 === undefined ? [] : [s3Target(s3)]),
    serverTarget('nats', {
      kill: () => nats.kill(),
      revive: () => nats.restart(),
      ...(losesData ? { reviveEmpty: () => nats.putBack('nothing') } : {}),
      signal: (name) => (name === 'SIGSTOP' ? nats.pause() : nats.resume()),
    }),
    serverTarget('redis', {
      kill: () => redis.kill(),
      stop: () => redis.terminate(),
      revive: () => redis.start(),
      signal: (name) => redis.signal(name),
    }),
    serverTarget('broker', {
      kill: () => broker.kill9(),
      revive: () => broker.revive(),
      signal: (name) => (name === 'SIGSTOP' ? broker.pause() : broker.resume()),
    }),
    serverTarget('clickhouse', {
      kill: async () => signal(clickhouse.pid, 'SIGKILL'),
      ...(telemetry === undefined ? {} : { cutPower: () => cutPower(clickhouse, telemetry) }),
      // It is started again by itself.
      revive: async () => undefined,
      signal: (name) => signal(clickhouse.pid, name),
    }),
  ]
}

/** Another process of ClickHouse follows at once. One that is just being started would use both disks. */
async function cutPower(clickhouse: ClusterServers['clickhouse'], telemetry: CrashFolder): Promise<void> {
  await until('ClickHouse is up', { deadlineMs: STARTED_MS, everyMs: 100 }, async () => {
    const { url } = clickhouse.endpoint()
    const answer = await fetch(`${url}/ping`, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined)
    return answer?.ok || undefined
  })
  const { pid } = clickhouse
  await halt(() => [pid])
  telemetry.cut()
  signal(pid, 'SIGKILL')
}

/** Where images are. */
function s3Target(s3: S3Server): Target {
  return {
    name: 's3',
    kinds: ['kill', 'kill'],
    inflict: () => s3.kill(),
    heal: () => s3.start(),
  }
}

interface ServerHandle {
  kill(): Promise<void>
  /** Kills it and takes what was not synced. Undefined where that cannot be done. */
  cutPower?(): Promise<void>
  /** Ends it in order, if that differs from a kill. */
  stop?(): Promise<void>
  revive(): Promise<void>
  /** Starts it without its data. Undefined for what others cannot rebuild. */
  reviveEmpty?(): Promise<void>
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
}

function serverTarget(name: string, server: ServerHandle): Target {
  return {
    name,
    kinds: [
      ...(['kill', 'kill', server.stop === undefined ? 'kill' : 'stop', 'pause', 'pause'] as const),
      // Some in every run of ten minutes: they are what `--losses` is for.
      ...(server.reviveEmpty === undefined ? [] : new Array<FaultKind>(4).fill('wipe')),
      ...(server.cutPower === undefined ? [] : (['power_cut', 'power_cut'] as const)),
    ],
    async inflict(kind: FaultKind) {
      if (kind === 'pause') server.signal('SIGSTOP')
      else if (kind === 'power_cut') await server.cutPower?.()
      else await (kind === 'stop' ? server.stop?.() : server.kill())
    },
    async heal(kind: FaultKind) {
      if (kind === 'pause') server.signal('SIGCONT')
      else await (kind === 'wipe' ? server.reviveEmpty?.() : server.revive())
    },
  }
}
