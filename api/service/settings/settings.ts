// Reads the settings from the environment, once at start, into a frozen and normalised object. Nothing else reads the
// environment.

import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { LIMITS } from '../../../engine/limits.ts'
import type { Registration } from '../../auth/accounts.ts'
import type { PreviousKey, Signing } from '../../auth/key-ring.ts'
import { API_LIMITS } from '../../limits.ts'
import { isLoopback } from '../../loopback.ts'
import type { RequestRates } from '../../rates/rates.ts'
import { type ClusterSettings, ROLES, type Role, readCluster, refuseForeign } from './cluster.ts'
import { type OtaSettings, readOta } from './ota.ts'
import { type OutboundSettings, readOutbound } from './outbound.ts'
import { type Environment, PORT, Reader } from './reader.ts'
import { readS3, type S3Settings } from './s3.ts'
import { readPreviousKeys, readSigning } from './signing.ts'
import { readTls, type TlsSettings } from './tls.ts'

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

export interface EmbeddedSettings {
  readonly kind: 'embedded'
  /** An embedded service has all roles. */
  readonly roles: readonly Role[]
  readonly dataDir: string
  /** Port of MQTT without TLS. Undefined if there is none. */
  readonly mqttPort: number | undefined
  /** Messages per second and device. 0 means no limit. */
  readonly devicePublishRate: number
  /** MQTT connections of one address that have not been admitted yet. 0 means no separate limit. */
  readonly handshakesPerAddressMax: number
}

export interface Settings {
  readonly profile: EmbeddedSettings | ClusterSettings
  readonly host: string
  readonly httpPort: number
  /** The address under which others reach the service. */
  readonly publicUrl: string | undefined
  /** Whether the dashboard is served. */
  readonly dashboard: boolean
  readonly sockets: {
    readonly connectionsMax: number
    readonly pingIntervalSec: number
    readonly pingTimeoutSec: number
  }
  readonly tls: TlsSettings | undefined
  readonly durability: 'power' | 'process'
  readonly registration: Registration
  readonly adminEmail: string | undefined
  readonly adminPassword: string | undefined
  readonly signing: Signing
  readonly previousKeys: readonly PreviousKey[]
  /** Whether each refresh issues a new refresh token. */
  readonly refreshRotation: boolean
  readonly heartbeatTimeoutMs: number
  readonly requestRates: RequestRates
  readonly metrics: {
    /** A separate port for metrics and probes, which the API port then does not serve. 0 picks a free one. */
    readonly port: number | undefined
    /** Bearer token that is required to read the metrics, if set. */
    readonly token: string | undefined
  }
  /** Origins of web pages that may use the API. `*` allows any. */
  readonly corsOrigins: readonly string[]
  /** Addresses or networks in CIDR notation. */
  readonly trustedProxies: readonly string[]
  readonly deviceTypesPath: string | undefined
  readonly ota: OtaSettings
  /** The S3 service that stores images. If undefined, an embedded service stores them in files. */
  readonly s3: S3Settings | undefined
  /** Where alert notifications may be sent. */
  readonly outbound: OutboundSettings
  readonly retentionDays: number | undefined
  readonly auditRetentionDays: number
  readonly alertRetentionDays: number
  readonly shards: number
  readonly logLevel: (typeof LOG_LEVELS)[number]
}

export type ReadSettings =
  | { readonly kind: 'settings'; readonly settings: Settings }
  /** One line that names the setting and says what is expected. */
  | { readonly kind: 'wrong'; readonly line: string }

const HEARTBEAT_SEC_MAX = 86_400
/** uWebSockets.js waits at most 960 s in all. */
const PING_SEC = { min: 4, max: 480 }
const RATE = { min: 0, max: 1_000_000 }

export function readSettings(
  environment: Environment = process.env,
  machine: { readonly cores: number },
): ReadSettings {
  const reader = new Reader(environment)
  const profile = reader.word('FLEET_PROFILE', ['embedded', 'cluster'], 'embedded')
  refuseForeign(reader, profile)
  const hosts = 'an address or a name of this machine, such as 127.0.0.1'
  const host =
    reader.matching('FLEET_HOST', /^[\w.:%-]+$/, hosts) ?? (profile === 'embedded' ? '127.0.0.1' : '0.0.0.0')
  const tls = readTls(reader)
  const settings: Settings = {
    profile: profile === 'embedded' ? readEmbedded(reader, tls) : readCluster(reader),
    host,
    httpPort: reader.number('FLEET_HTTP_PORT', { ...PORT, default: 8000 }),
    publicUrl: reader.url('FLEET_PUBLIC_URL', ['http', 'https'], 'https://fleet.example.com'),
    dashboard: reader.word('FLEET_DASHBOARD', ['on', 'off'], 'on') === 'on',
    sockets: {
      connectionsMax: reader.number('FLEET_WS_CONNECTIONS_MAX', {
        min: 1,
        max: 100_000,
        default: API_LIMITS.socketsMax,
      }),
      pingIntervalSec: reader.number('FLEET_WS_PING_INTERVAL_SEC', {
        ...PING_SEC,
        default: API_LIMITS.socketPingEverySec,
      }),
      pingTimeoutSec: reader.number('FLEET_WS_PING_TIMEOUT_SEC', {
        ...PING_SEC,
        default: API_LIMITS.socketPongSecMax,
      }),
    },
    tls,
    durability: reader.word('FLEET_DURABILITY', ['power', 'process'], 'power'),
    registration: readRegistration(reader, { profile, host }),
    adminEmail: reader.matching('FLEET_ADMIN_EMAIL', /^[^\s@]+@[^\s@]+$/, 'an e-mail address')?.toLowerCase(),
    adminPassword: reader.matching('FLEET_ADMIN_PASSWORD', /^.{8,256}$/su, '8 to 256 characters'),
    signing: readSigning(reader, profile),
    previousKeys: readPreviousKeys(reader),
    refreshRotation: reader.word('FLEET_REFRESH_ROTATION', ['on', 'off'], 'off') === 'on',
    heartbeatTimeoutMs:
      1000 * reader.number('FLEET_HEARTBEAT_TIMEOUT_SEC', { min: 1, max: HEARTBEAT_SEC_MAX, default: 60 }),
    requestRates: {
      perUser: reader.number('FLEET_USER_REQUEST_RATE', { ...RATE, default: 1_000 }),
      perDevice: reader.number('FLEET_DEVICE_REQUEST_RATE', { ...RATE, default: 100 }),
      perAddress: reader.number('FLEET_ANONYMOUS_REQUEST_RATE', { ...RATE, default: 100 }),
      work: reader.number('FLEET_USER_WORK_RATE', { ...RATE, default: 200 }),
    },
    metrics: {
      port: reader.numberIfSet('FLEET_METRICS_PORT', PORT),
      token: reader.matching(
        'FLEET_METRICS_TOKEN',
        /^[\x21-\x7e]{16,256}$/,
        '16 to 256 characters without blanks',
      ),
    },
    corsOrigins: reader.list(
      'FLEET_CORS_ORIGINS',
      isOrigin,
      'origins such as https://fleet.example.com, or *',
    ),
    trustedProxies: reader.list(
      'FLEET_TRUSTED_PROXIES',
      isNetwork,
      'addresses or networks such as 10.0.0.0/8',
    ),
    deviceTypesPath: reader.text('FLEET_DEVICE_TYPES'),
    ota: readOta(reader, profile),
    s3: readS3(reader),
    outbound: readOutbound(reader),
    retentionDays: reader.numberIfSet('FLEET_RETENTION_DAYS', { min: 1, max: 36_500 }),
    auditRetentionDays: reader.number('FLEET_AUDIT_RETENTION_DAYS', { min: 1, max: 36_500, default: 400 }),
    alertRetentionDays: reader.number('FLEET_ALERT_RETENTION_DAYS', { min: 1, max: 36_500, default: 400 }),
    shards: reader.number('FLEET_SHARDS', {
      min: 1,
      max: LIMITS.shardsMax,
      default: Math.min(LIMITS.shardsMax, Math.max(1, machine.cores - 1)),
    }),
    logLevel: reader.word('FLEET_LOG_LEVEL', LOG_LEVELS, 'info'),
  }
  return reader.firstError === undefined
    ? { kind: 'settings', settings: Object.freeze(settings) }
    : { kind: 'wrong', line: reader.firstError }
}

function readEmbedded(reader: Reader, tls: TlsSettings | undefined): EmbeddedSettings {
  return {
    kind: 'embedded',
    roles: ROLES,
    dataDir: resolve(reader.text('FLEET_DATA_DIR') ?? './data'),
    mqttPort: reader.numberIfSet('FLEET_MQTT_PORT', PORT) ?? (tls === undefined ? 1883 : undefined),
    devicePublishRate: reader.number('FLEET_DEVICE_PUBLISH_RATE', { ...RATE, default: 100 }),
    handshakesPerAddressMax: reader.number('FLEET_MQTT_HANDSHAKES_PER_ADDRESS', {
      min: 0,
      max: LIMITS.handshakesMax,
      default: LIMITS.handshakesMax / 2,
    }),
  }
}

/** [contract 2.3] Beyond loopback anyone could become admin, so `open` must be set explicitly. */
function readRegistration(
  reader: Reader,
  { profile, host }: { profile: 'embedded' | 'cluster'; host: string },
): Registration {
  const set = reader.text('FLEET_REGISTRATION') !== undefined
  const registration = reader.word(
    'FLEET_REGISTRATION',
    ['open', 'bootstrap', 'locked'],
    profile === 'embedded' ? 'open' : 'bootstrap',
  )
  if (registration === 'open' && !set && !isLoopback(host) && host !== '[::1]')
    reader.refuse(
      'FLEET_REGISTRATION',
      `must be set explicitly when FLEET_HOST is ${host}: to locked, to bootstrap, or to open if any program on this machine may register an admin`,
    )
  return registration
}

/** Whether the text is an origin as browsers send it, without path and default port. */
function isOrigin(text: string): boolean {
  return text === '*' || (/^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text)
}

function isNetwork(text: string): boolean {
  const [address = '', bits, more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more !== undefined) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}
