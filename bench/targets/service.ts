// Starts the real service as a user does.
import { fileURLToPath } from 'node:url'
import { addressOf, type Program, startProgram } from './ready-line.ts'

const MAIN = fileURLToPath(new URL('../../program/service.js', import.meta.url))
const READY_MS = 60_000

export type Durability = 'power' | 'process'

export interface ServiceOptions {
  readonly dataDir: string
  readonly durability: Durability
  /** A fixed port, so that the address stays the same after a restart. */
  readonly mqttPort?: number
  /** Undefined means the default of the service. */
  readonly heartbeatTimeoutSec?: number
  /** An address that alert channels may send to although it is not public. */
  readonly webhookAllow?: string
  readonly more?: Readonly<Record<`FLEET_${string}`, string>>
}

export interface Service extends Program {
  readonly httpUrl: string
  readonly wsUrl: string
  readonly mqtt: { readonly host: string; readonly port: number }
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const program = await startProgram({
    args: [MAIN],
    env: serviceEnv(options),
    readyMs: READY_MS,
  })
  const httpUrl = program.ready.httpUrl.replace(/\/$/, '')
  const wsUrl = `${httpUrl.replace(/^http/, 'ws')}/ws`
  return { ...program, httpUrl, wsUrl, mqtt: addressOf(program.ready.mqttUrl) }
}

// The settings in the caller's environment must not affect the measured service.
function serviceEnv(options: ServiceOptions): NodeJS.ProcessEnv {
  const { dataDir, durability, mqttPort = 0, heartbeatTimeoutSec, webhookAllow, more = {} } = options
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('FLEET_'))
  return {
    ...Object.fromEntries(inherited),
    FLEET_HOST: '127.0.0.1',
    FLEET_HTTP_PORT: '0',
    FLEET_MQTT_PORT: String(mqttPort),
    FLEET_DATA_DIR: dataDir,
    FLEET_DURABILITY: durability,
    FLEET_REGISTRATION: 'open',
    FLEET_LOG_LEVEL: 'warn',
    // One user sends all requests, so the limits are so high that nothing is refused. They are still computed.
    FLEET_USER_REQUEST_RATE: '1000000',
    FLEET_DEVICE_REQUEST_RATE: '1000000',
    FLEET_ANONYMOUS_REQUEST_RATE: '1000000',
    FLEET_USER_WORK_RATE: '0',
    FLEET_DEVICE_PUBLISH_RATE: '0',
    FLEET_MQTT_HANDSHAKES_PER_ADDRESS: '0',
    ...(webhookAllow === undefined ? {} : { FLEET_WEBHOOK_ALLOW: webhookAllow }),
    ...(heartbeatTimeoutSec === undefined
      ? {}
      : { FLEET_HEARTBEAT_TIMEOUT_SEC: String(heartbeatTimeoutSec) }),
    ...more,
  }
}
