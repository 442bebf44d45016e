// Runs the cluster profile on this machine, with real servers and nodes that a scenario starts one by one. The broker is
// plain mosquitto (`FLEET_MQTT_MODE=plain`), because the tests' stand-in for EMQX would be the bottleneck.

import { generateKeyPairSync } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { openNats } from '../../engine/adapters/nats/nats-link.ts'
import { NATS_SERVER, NatsServer } from '../../engine/adapters/nats/testing/nats-server.ts'
import { openKvOwnership } from '../../engine/adapters/ownership/jetstream-kv.ts'
import { REDIS_SERVER, RedisServer } from '../../engine/adapters/redis/testing/redis-server.ts'
import { urlOf } from '../../engine/adapters/telemetry/testing/telemetry.ts'
import type { OwnershipState } from '../../engine/ports/ownership.ts'
import { until } from '../measure/deadline.ts'
import type { Bench } from '../scenario.ts'
import { type BareBroker, startMosquitto } from './brokers.ts'
import { type ClickHouse, withClickHouse } from './clickhouse.ts'
import { type Program, startProgram } from './ready-line.ts'

const MAIN = fileURLToPath(new URL('../../program/service.js', import.meta.url))
const READY_MS = 60_000

export interface NodeOptions {
  readonly roles: string
  /** The address of ClickHouse, if a proxy is to be used. */
  readonly clickhouseUrl?: string
}

export interface ClusterNode extends Program {
  readonly roles: string
  readonly httpUrl: string
}

export interface Cluster {
  readonly broker: BareBroker
  readonly clickhouse: ClickHouse
  /** The servers by name, so that the CPU of each can be read. */
  readonly serverPids: Readonly<Record<'mosquitto' | 'nats-server' | 'redis' | 'ClickHouse', number>>
  /** Resolves once the node reports that it is ready. */
  startNode(options: NodeOptions): Promise<ClusterNode>
  /** The table of nodes and owners of partitions, as the nodes see it. */
  owners(): Promise<OwnershipState>
}

/** Resolves with false, without running `work`, if a server is missing. */
export async function withCluster(bench: Bench, work: (cluster: Cluster) => Promise<void>): Promise<boolean> {
  return await bench.withDir((dir) => withServers(bench, dir, work))
}

async function withServers(
  bench: Bench,
  dir: string,
  work: (cluster: Cluster) => Promise<void>,
): Promise<boolean> {
  const broker =
    NATS_SERVER === undefined || REDIS_SERVER === undefined ? undefined : await startMosquitto(dir)
  if (broker === undefined) {
    bench.say('nats-server, redis-server or mosquitto is not installed: skipped')
    return false
  }
  const nats = await NatsServer.start()
  const redis = await RedisServer.start()
  const link = await openNats({ servers: [nats.url], durability: 'process', warn: () => {} })
  const nodes: ClusterNode[] = []
  try {
    await withClickHouse(dir, async (clickhouse) => {
      const settings = settingsOf({ broker, nats, redis, clickhouse })
      let table: Awaited<ReturnType<typeof openKvOwnership>> | undefined
      const cluster: Cluster = {
        broker,
        clickhouse,
        serverPids: {
          mosquitto: broker.pid,
          'nats-server': nats.pid ?? 0,
          redis: redis.pid ?? 0,
          ClickHouse: clickhouse.pid,
        },
        async startNode(options) {
          const node = await startNode(settings, options)
          nodes.push(node)
          return node
        },
        async owners() {
          table ??= await openKvOwnership(link, { table: 'owners', replicas: 1 })
          return table.read()
        },
      }
      try {
        await work(cluster)
      } finally {
        await Promise.all(nodes.map((node) => node.kill()))
      }
    })
    return true
  } finally {
    await link.close()
    await Promise.all([broker.kill(), nats.remove(), redis.stop()])
  }
}

async function startNode(
  settings: Readonly<Record<string, string>>,
  { roles, clickhouseUrl }: NodeOptions,
): Promise<ClusterNode> {
  // The settings in the caller's environment must not affect the measured service.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('FLEET_'))
  const program = await startProgram({
    args: [MAIN],
    env: {
      ...Object.fromEntries(inherited),
      ...settings,
      ...(clickhouseUrl === undefined ? {} : { FLEET_CLICKHOUSE_URL: clickhouseUrl }),
      FLEET_ROLES: roles,
    },
    readyMs: READY_MS,
  })
  const httpUrl = program.ready.httpUrl.replace(/\/$/, '')
  await until(`${roles} to be ready`, { deadlineMs: READY_MS, everyMs: 50 }, () => isReady(httpUrl))
  return { ...program, roles, httpUrl }
}

async function isReady(httpUrl: string): Promise<true | undefined> {
  const { status } = await fetch(`${httpUrl}/readyz`)
  return status === 200 ? true : undefined
}

interface Servers extends Pick<Cluster, 'broker' | 'clickhouse'> {
  readonly nats: NatsServer
  readonly redis: RedisServer
}

function settingsOf({ broker, nats, redis, clickhouse }: Servers): Readonly<Record<string, string>> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const { url, user: username, password } = clickhouse
  return {
    FLEET_PROFILE: 'cluster',
    FLEET_HOST: '127.0.0.1',
    FLEET_HTTP_PORT: '0',
    FLEET_REGISTRATION: 'open',
    FLEET_DURABILITY: 'power',
    FLEET_LOG_LEVEL: 'warn',
    FLEET_JWT_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    FLEET_NATS_URL: `nats://${nats.url}`,
    FLEET_NATS_MONITOR_URL: nats.monitor,
    FLEET_REDIS_URL: redis.url,
    FLEET_CLICKHOUSE_URL: urlOf({ url, username, password }),
    FLEET_MQTT_MODE: 'plain',
    FLEET_MQTT_URL: `mqtt://${broker.mqtt.host}:${broker.mqtt.port}`,
    // One user sends all requests, so the limits are so high that nothing is refused. They are still computed.
    FLEET_USER_REQUEST_RATE: '1000000',
    FLEET_DEVICE_REQUEST_RATE: '1000000',
    FLEET_ANONYMOUS_REQUEST_RATE: '1000000',
    FLEET_USER_WORK_RATE: '0',
  }
}
