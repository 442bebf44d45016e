// Runs the embedded profile: one process, and ClickHouse's engine in its child.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { databaseOf } from '../testing/service.ts'
import { CrashFolder } from './crash-folder.ts'
import type { FaultKind } from './faults.ts'
import type { Target } from './nemesis.ts'
import { signal } from './processes.ts'
import { Program, SERVICE_MAIN } from './program.ts'
import { LinkTarget, NOWHERE, type System, type SystemOptions, unwell } from './system.ts'

export async function openEmbeddedSystem({ folder, logs, recorder }: SystemOptions): Promise<System> {
  let [httpAddress, mqttAddress] = [NOWHERE, NOWHERE]
  const http = await LinkTarget.open('api-link', () => httpAddress)
  const mqtt = await LinkTarget.open('device-link', () => mqttAddress)
  const httpUrl = `http://${http.proxy.url}`
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  const telemetry = CrashFolder.open(join(folder, 'disks'), join(dataDir, 'telemetry'))
  const service = new Program({
    name: 'service',
    args: [SERVICE_MAIN],
    env: {
      FLEET_DATA_DIR: dataDir,
      FLEET_HTTP_PORT: '0',
      FLEET_MQTT_PORT: '0',
      FLEET_LOG_LEVEL: 'info',
      FLEET_REGISTRATION: 'open',
      FLEET_OTA_PUBLIC_URL: httpUrl,
      FLEET_USER_REQUEST_RATE: '0',
      FLEET_DEVICE_REQUEST_RATE: '0',
      FLEET_ANONYMOUS_REQUEST_RATE: '0',
      FLEET_USER_WORK_RATE: '0',
      FLEET_DEVICE_PUBLISH_RATE: '0',
    },
    kinds: [
      ...(['kill', 'kill', 'kill', 'pause', 'stop'] as const),
      ...(telemetry === undefined ? [] : (['power_cut', 'power_cut'] as const)),
    ],
    cutPower: () => telemetry?.cut(),
    logs,
    recorder,
    onReady: ({ http_url: httpUrl, mqtt_url: mqttUrl }) => {
      httpAddress = new URL(String(httpUrl)).host
      mqttAddress = new URL(String(mqttUrl)).host
    },
  })
  service.start()
  const [host = '', port] = mqtt.proxy.url.split(':')
  return {
    promises: { isPubackDurable: true, brokerLossMs: 0, isFeedLossless: true, clockSkewMs: 0 },
    nodes: [{ name: 'service', url: () => httpUrl }],
    mqtt: () => ({ host, port: Number(port) }),
    hasFirmware: true,
    targets: [service, databaseTarget(service), http, mqtt],
    lacking: async () => {
      const why = service.isReady ? await unwell('service', httpUrl) : 'service (starting)'
      return why === undefined ? [] : [why]
    },
    close: async () => {
      await service.close()
      http.proxy.close()
      mqtt.proxy.close()
      telemetry?.close()
    },
    abandon: () => {
      service.abandon()
      telemetry?.close()
    },
  }
}

/** The service restarts it by itself. */
function databaseTarget(service: Program): Target {
  let paused: number | undefined
  return {
    name: 'database',
    kinds: ['kill', 'pause'],
    async inflict(kind: FaultKind) {
      const pid = pidOf(service)
      if (pid === undefined) return
      if (kind === 'pause') paused = pid
      signal(pid, kind === 'pause' ? 'SIGSTOP' : 'SIGKILL')
    },
    async heal() {
      if (paused !== undefined) signal(paused, 'SIGCONT')
      paused = undefined
    },
  }
}

/** Undefined while there is none, for instance because the service is away. */
function pidOf({ pid }: Program): number | undefined {
  try {
    return pid === undefined ? undefined : databaseOf(pid)
  } catch {
    return undefined
  }
}
