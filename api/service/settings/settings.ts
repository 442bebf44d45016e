// Reads the settings from the environment, once at start, into a frozen and normalised object. Nothing else reads the
// environment.

import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { LIMITS } from '../../../engine/limits.ts'
import type { Registration } from '../../auth/accounts.ts'
import type { PreviousKey, Signing } from '../../auth/key-ring.ts'
import { API_LIMITS } from '../../limits.ts'
import { isLoopback } from '../../loopback.ts'
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
  /** Requests per second. 0 means no limit. */
  readonly requestRates: {
    readonly perUser: number
    readonly perDevice: number
    readonly perAddress: number
    /** Work of one user, in units of a plain GET. */
    readonly work: number
  }
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
  const read = new Reader(environment)
  const profile = read.word('FLEET_PROFILE', ['embedded', 'cluster'], 'embedded')
  refuseForeign(read, profile)
  const hosts = 'an address or a name of this machine, such as 127.0.0.1'
  const host =
    read.matching('FLEET_HOST', /^[\w.:%-]+$/, hosts) ?? (profile === 'embedded' ? '127.0.0.1' : '0.0.0.0')
  const tls = readTls(read)
  const settings: Settings = {
    profile: profile === 'embedded' ? readEmbedded(read, tls) : readCluster(read),
    host,
    httpPort: read.number('FLEET_HTTP_PORT', { ...PORT, default: 8000 }),
    publicUrl: read.url('FLEET_PUBLIC_URL', ['http', 'https'], 'https://fleet.example.com'),
    dashboard: read.word('FLEET_DASHBOARD', ['on', 'off'], 'on') === 'on',
    sockets: {
      connectionsMax: read.number('FLEET_WS_CONNECTIONS_MAX', {
        min: 1,
        max: 100_000,
        default: API_LIMITS.socketsMax,
      }),
      pingIntervalSec: read.number('FLEET_WS_PING_INTERVAL_SEC', {
        ...PING_SEC,
        default: API_LIMITS.socketPingEverySec,
      }),
      pingTimeoutSec: read.number('FLEET_WS_PING_TIMEOUT_SEC', {
        ...PING_SEC,
        default: API_LIMITS.socketPongSecMax,
      }),
    },
    tls,
    durability: read.word('FLEET_DURABILITY', ['power', 'process'], 'power'),
    registration: readRegistration(read, { profile, host }),
    adminEmail: read.matching('FLEET_ADMIN_EMAIL', /^[^\s@]+@[^\s@]+$/, 'an e-mail address')?.toLowerCase(),
    adminPassword: read.matching('FLEET_ADMIN_PASSWORD', /^.{8,256}$/su, '8 to 256 characters'),
    signing: readSigning(read, profile),
    previousKeys: readPreviousKeys(read),
    refreshRotation: read.word('FLEET_REFRESH_ROTATION', ['on', 'off'], 'off') === 'on',
    heartbeatTimeoutMs:
      1000 * read.number('FLEET_HEARTBEAT_TIMEOUT_SEC', { min: 1, max: HEARTBEAT_SEC_MAX, default: 60 }),
    requestRates: {
      perUser: read.number('FLEET_USER_REQUEST_RATE', { ...RATE, default: 1_000 }),
      perDevice: read.number('FLEET_DEVICE_REQUEST_RATE', { ...RATE, default: 100 }),
      perAddress: read.number('FLEET_ANONYMOUS_REQUEST_RATE', { ...RATE, default: 100 }),
      work: read.number('FLEET_USER_WORK_RATE', { ...RATE, default: 200 }),
    },
    metrics: {
      port: read.numberIfSet('FLEET_METRICS_PORT', PORT),
      token: read.matching(
        'FLEET_METRICS_TOKEN',
        /^[\x21-\x7e]{16,256}$/,
        '16 to 256 characters without blanks',
      ),
    },
    corsOrigins: read.list('FLEET_CORS_ORIGINS', isOrigin, 'origins such as https://fleet.example.com, or *'),
    trustedProxies: read.list('FLEET_TRUSTED_PROXIES', isNetwork, 'addresses or networks such as 10.0.0.0/8'),
    deviceTypesPath: read.text('FLEET_DEVICE_TYPES'),
    ota: readOta(read, profile),
    s3: readS3(read),
    outbound: readOutbound(read),
    retentionDays: read.numberIfSet('FLEET_RETENTION_DAYS', { min: 1, max: 36_500 }),
    auditRetentionDays: read.number('FLEET_AUDIT_RETENTION_DAYS', { min: 1, max: 36_500, default: 400 }),
    alertRetentionDays: read.number('FLEET_ALERT_RETENTION_DAYS', { min: 1, max: 36_500, default: 400 }),
    shards: read.number('FLEET_SHARDS', {
      min: 1,
      max: LIMITS.shardsMax,
      default: Math.min(LIMITS.shardsMax, Math.max(1, machine.cores - 1)),
    }),
    logLevel: read.word('FLEET_LOG_LEVEL', LOG_LEVELS, 'info'),
  }
  return read.firstError === undefined
    ? { kind: 'settings', settings: Object.freeze(settings) }
    : { kind: 'wrong', line: read.firstError }
}

function readEmbedded(read: Reader, tls: TlsSettings | undefined): EmbeddedSettings {
  return {
    kind: 'embedded',
    roles: ROLES,
    dataDir: resolve(read.text('FLEET_DATA_DIR') ?? './data'),
    mqttPort: read.numberIfSet('FLEET_MQTT_PORT', PORT) ?? (tls === undefined ? 1883 : undefined),
    devicePublishRate: read.number('FLEET_DEVICE_PUBLISH_RATE', { ...RATE, default: 100 }),
    handshakesPerAddressMax: read.number('FLEET_MQTT_HANDSHAKES_PER_ADDRESS', {
      min: 0,
      max: LIMITS.handshakesMax,
      default: LIMITS.handshakesMax / 2,
    }),
  }
}

/** [contract 2.3] Beyond loopback anyone could become admin, so `open` must be set explicitly. */
function readRegistration(
  read: Reader,
  { profile, host }: { profile: 'embedded' | 'cluster'; host: string },
): Registration {
  const set = read.text('FLEET_REGISTRATION') !== undefined
  const registration = read.word(
    'FLEET_REGISTRATION',
    ['open', 'bootstrap', 'locked'],
    profile === 'embedded' ? 'open' : 'bootstrap',
  )
  if (registration === 'open' && !set && !isLoopback(host) && host !== '[::1]')
    read.refuse(
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
