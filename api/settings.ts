// The settings: read once at start from the environment into a frozen, normalised object. Nothing else reads it.

import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { LIMITS } from '../engine/limits.ts'
import { parsePrivateKey, parsePublicKey } from './auth/pem-key.ts'

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
const REGISTRATIONS = ['open', 'bootstrap', 'locked'] as const
export type Registration = (typeof REGISTRATIONS)[number]

/** `kept`: made at the first start and kept by the store. */
export type Signing =
  | { readonly kind: 'secret'; readonly secret: string }
  | { readonly kind: 'private_key'; readonly pem: string }
  | { readonly kind: 'kept' }

/** Tokens signed with it still count; none is signed with it any more. */
export type PreviousKey =
  | { readonly kind: 'secret'; readonly secret: string }
  /** Public, or private for its public half. */
  | { readonly kind: 'pem'; readonly pem: string }

/** Files in PEM, and what is served with them. */
export interface TlsSettings {
  readonly cert: string
  readonly key: string
  /** With it, a device may show a certificate instead of a token. */
  readonly clientCa: string | undefined
  /** Of certificates that were revoked. */
  readonly crl: string | undefined
  /** MQTT over TLS. */
  readonly mqttsPort: number
  /** MQTT in WebSockets over TLS. */
  readonly mqttWsPort: number
  /** Whether REST and `/ws` are over TLS as well. */
  readonly isHttp: boolean
}

export interface Settings {
  readonly profile: 'embedded' | 'cluster'
  readonly host: string
  readonly httpPort: number
  /** Of plain text; undefined is none. */
  readonly mqttPort: number | undefined
  readonly tls: TlsSettings | undefined
  readonly dataDir: string
  readonly durability: 'power' | 'process'
  readonly registration: Registration
  readonly adminEmail: string | undefined
  readonly adminPassword: string | undefined
  readonly signing: Signing
  readonly previousKeys: readonly PreviousKey[]
  /** Whether each renewal of a login gives a new refresh token. */
  readonly refreshRotation: boolean
  readonly heartbeatTimeoutMs: number
  /** Messages per second; 0 is no limit. */
  readonly devicePublishRate: number
  /** Requests per second; 0 is no limit. */
  readonly requestRates: {
    readonly perUser: number
    readonly perDevice: number
    readonly perAddress: number
  }
  /** Of pages that may use the API from a browser; `*` is any. */
  readonly corsOrigins: readonly string[]
  /** Addresses and networks. */
  readonly trustedProxies: readonly string[]
  readonly deviceTypesPath: string | undefined
  readonly retentionDays: number | undefined
  readonly auditRetentionDays: number
  readonly shards: number
  readonly logLevel: (typeof LOG_LEVELS)[number]
}

export type ReadSettings =
  | { readonly kind: 'settings'; readonly settings: Settings }
  /** One line that names the setting and what was expected. */
  | { readonly kind: 'wrong'; readonly line: string }

type Environment = Readonly<Record<string, string | undefined>>

const SECRET_BYTES_MIN = 32
const HEARTBEAT_SEC_MAX = 86_400
const SHARDS_MAX = 64
const PORT = { min: 0, max: 65_535 }
const RATE = { min: 0, max: 1_000_000 }

const NAMES = [
  'FLEET_PROFILE',
  'FLEET_HOST',
  'FLEET_HTTP_PORT',
  'FLEET_MQTT_PORT',
  'FLEET_TLS_CERT',
  'FLEET_TLS_KEY',
  'FLEET_TLS_CLIENT_CA',
  'FLEET_TLS_CRL',
  'FLEET_MQTTS_PORT',
  'FLEET_MQTT_WS_PORT',
  'FLEET_HTTP_TLS',
  'FLEET_DATA_DIR',
  'FLEET_DURABILITY',
  'FLEET_REGISTRATION',
  'FLEET_ADMIN_EMAIL',
  'FLEET_ADMIN_PASSWORD',
  'FLEET_JWT_SECRET',
  'FLEET_JWT_PRIVATE_KEY',
  'FLEET_JWT_PREVIOUS_KEYS',
  'FLEET_REFRESH_ROTATION',
  'FLEET_HEARTBEAT_TIMEOUT_SEC',
  'FLEET_USER_REQUEST_RATE',
  'FLEET_DEVICE_REQUEST_RATE',
  'FLEET_ANONYMOUS_REQUEST_RATE',
  'FLEET_DEVICE_PUBLISH_RATE',
  'FLEET_CORS_ORIGINS',
  'FLEET_TRUSTED_PROXIES',
  'FLEET_DEVICE_TYPES',
  'FLEET_RETENTION_DAYS',
  'FLEET_AUDIT_RETENTION_DAYS',
  'FLEET_SHARDS',
  'FLEET_LOG_LEVEL',
] as const
type Name = (typeof NAMES)[number]
/** Of TLS, without what it takes at least. */
const TLS_NAMES = [
  'FLEET_TLS_CLIENT_CA',
  'FLEET_TLS_CRL',
  'FLEET_MQTTS_PORT',
  'FLEET_MQTT_WS_PORT',
  'FLEET_HTTP_TLS',
] as const satisfies readonly Name[]

export function readSettings(
  environment: Environment = process.env,
  machine: { readonly cores: number },
): ReadSettings {
  // Collected and reported one at a time: the first line is the one to act on.
  const wrong: string[] = []
  const known: ReadonlySet<string> = new Set(NAMES)
  for (const name of Object.keys(environment))
    if (name.startsWith('FLEET_') && !name.startsWith('FLEET_CLI_') && !known.has(name))
      wrong.push(`${name} is not a setting; known are ${NAMES.join(', ')}`)
  const read = new Reader(environment, wrong)
  const profile = read.word('FLEET_PROFILE', ['embedded', 'cluster'], 'embedded')
  const host = read.text('FLEET_HOST') ?? (profile === 'embedded' ? '127.0.0.1' : '0.0.0.0')
  const tls = readTls(read)
  const settings: Settings = {
    profile,
    host,
    httpPort: read.number('FLEET_HTTP_PORT', { ...PORT, default: 8000 }),
    mqttPort: read.numberIfSet('FLEET_MQTT_PORT', PORT) ?? (tls === undefined ? 1883 : undefined),
    tls,
    dataDir: resolve(read.text('FLEET_DATA_DIR') ?? './data'),
    durability: read.word('FLEET_DURABILITY', ['power', 'process'], 'power'),
    registration: readRegistration(read, { profile, host }),
    adminEmail: read.matching('FLEET_ADMIN_EMAIL', /^[^\s@]+@[^\s@]+$/, 'an e-mail address')?.toLowerCase(),
    adminPassword: read.matching('FLEET_ADMIN_PASSWORD', /^.{8,256}$/su, '8 to 256 characters'),
    signing: readSigning(read, profile),
    previousKeys: readPreviousKeys(read),
    refreshRotation: read.word('FLEET_REFRESH_ROTATION', ['on', 'off'], 'off') === 'on',
    heartbeatTimeoutMs:
      1000 * read.number('FLEET_HEARTBEAT_TIMEOUT_SEC', { min: 1, max: HEARTBEAT_SEC_MAX, default: 60 }),
    devicePublishRate: read.number('FLEET_DEVICE_PUBLISH_RATE', { ...RATE, default: 0 }),
    requestRates: {
      perUser: read.number('FLEET_USER_REQUEST_RATE', { ...RATE, default: 1_000 }),
      perDevice: read.number('FLEET_DEVICE_REQUEST_RATE', { ...RATE, default: 100 }),
      perAddress: read.number('FLEET_ANONYMOUS_REQUEST_RATE', { ...RATE, default: 100 }),
    },
    corsOrigins: read.list('FLEET_CORS_ORIGINS', isOrigin, 'origins such as https://fleet.example.com, or *'),
    trustedProxies: read.list('FLEET_TRUSTED_PROXIES', isNetwork, 'addresses or networks such as 10.0.0.0/8'),
    deviceTypesPath: read.text('FLEET_DEVICE_TYPES'),
    retentionDays: read.numberIfSet('FLEET_RETENTION_DAYS', { min: 1, max: 36_500 }),
    auditRetentionDays: read.number('FLEET_AUDIT_RETENTION_DAYS', { min: 1, max: 36_500, default: 400 }),
    shards: read.number('FLEET_SHARDS', {
      min: 1,
      max: SHARDS_MAX,
      default: Math.min(SHARDS_MAX, Math.max(1, machine.cores - 1)),
    }),
    logLevel: read.word('FLEET_LOG_LEVEL', LOG_LEVELS, 'info'),
  }
  const line = wrong[0]
  return line === undefined
    ? { kind: 'settings', settings: Object.freeze(settings) }
    : { kind: 'wrong', line }
}

/** [contract 2.3] Beyond loopback, anyone could make themselves admin: `open` must be meant. */
function readRegistration(
  read: Reader,
  { profile, host }: { profile: Settings['profile']; host: string },
): Registration {
  const set = read.text('FLEET_REGISTRATION') !== undefined
  const registration = read.word(
    'FLEET_REGISTRATION',
    REGISTRATIONS,
    profile === 'embedded' ? 'open' : 'bootstrap',
  )
  if (registration === 'open' && !set && !isLoopback(host))
    read.refuse(
      'FLEET_REGISTRATION',
      `must be set when FLEET_HOST is ${host}: locked, bootstrap, or open if anyone who can reach it may become admin`,
    )
  return registration
}

/** Nothing of it, or certificate and key at least: half of it would be plain text where TLS was meant. */
function readTls(read: Reader): TlsSettings | undefined {
  const path = (name: Name) => {
    const text = read.text(name)
    return text === undefined ? undefined : resolve(text)
  }
  const [cert, key] = [path('FLEET_TLS_CERT'), path('FLEET_TLS_KEY')]
  const more = {
    clientCa: path('FLEET_TLS_CLIENT_CA'),
    crl: path('FLEET_TLS_CRL'),
    mqttsPort: read.number('FLEET_MQTTS_PORT', { ...PORT, default: 8883 }),
    mqttWsPort: read.number('FLEET_MQTT_WS_PORT', { ...PORT, default: 8084 }),
    isHttp: read.word('FLEET_HTTP_TLS', ['on', 'off'], 'on') === 'on',
  }
  if (more.crl !== undefined && more.clientCa === undefined)
    read.refuse('FLEET_TLS_CRL', 'is a list of a CA; expected FLEET_TLS_CLIENT_CA beside it')
  if (cert !== undefined && key !== undefined) return { cert, key, ...more }
  if (cert !== undefined || key !== undefined)
    read.refuse('FLEET_TLS_CERT', 'and FLEET_TLS_KEY go together; expected both of them, or neither')
  const alone = TLS_NAMES.find((name) => read.text(name) !== undefined)
  if (cert === undefined && key === undefined && alone !== undefined)
    read.refuse(alone, 'does nothing by itself; expected FLEET_TLS_CERT and FLEET_TLS_KEY beside it')
  return undefined
}

function readSigning(read: Reader, profile: Settings['profile']): Signing {
  const secret = read.text('FLEET_JWT_SECRET')
  const pem = read.text('FLEET_JWT_PRIVATE_KEY')?.replaceAll('\\n', '\n')
  if (secret !== undefined && pem !== undefined)
    read.refuse('FLEET_JWT_SECRET', 'and FLEET_JWT_PRIVATE_KEY are both set; expected one of them')
  if (secret !== undefined) {
    if (Buffer.byteLength(secret) < SECRET_BYTES_MIN)
      read.refuse('FLEET_JWT_SECRET', `is too short; expected at least ${SECRET_BYTES_MIN} bytes`)
    return { kind: 'secret', secret }
  }
  if (pem !== undefined) {
    if (parsePrivateKey(pem) === undefined)
      read.refuse('FLEET_JWT_PRIVATE_KEY', 'expected a PEM private key: RSA of 2048 bits or more, or Ed25519')
    return { kind: 'private_key', pem }
  }
  if (profile === 'cluster')
    read.refuse('FLEET_JWT_SECRET', 'or FLEET_JWT_PRIVATE_KEY is needed in the cluster profile')
  return { kind: 'kept' }
}

const PEM_BLOCK = /-----BEGIN ([A-Z ]+)-----[^-]*-----END \1-----/g

/** PEM blocks, and secrets on lines of their own. */
function readPreviousKeys(read: Reader): readonly PreviousKey[] {
  const text = read.text('FLEET_JWT_PREVIOUS_KEYS')?.replaceAll('\\n', '\n') ?? ''
  const pems = [...text.matchAll(PEM_BLOCK)].map(([pem]) => pem)
  const lines = text.replace(PEM_BLOCK, '').split('\n')
  const secrets = lines.map((line) => line.trim()).filter((line) => line !== '')
  if (pems.length + secrets.length > LIMITS.previousKeysMax)
    read.refuse('FLEET_JWT_PREVIOUS_KEYS', `has too many keys; expected at most ${LIMITS.previousKeysMax}`)
  if (secrets.some((secret) => Buffer.byteLength(secret) < SECRET_BYTES_MIN))
    read.refuse(
      'FLEET_JWT_PREVIOUS_KEYS',
      `expected PEM keys, and secrets of at least ${SECRET_BYTES_MIN} bytes on lines of their own`,
    )
  if (pems.some((pem) => parsePublicKey(pem) === undefined))
    read.refuse('FLEET_JWT_PREVIOUS_KEYS', 'expected PEM keys: RSA of 2048 bits or more, or Ed25519')
  return [
    ...pems.map((pem) => ({ kind: 'pem', pem }) as const),
    ...secrets.map((secret) => ({ kind: 'secret', secret }) as const),
  ]
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
}

/** As browsers send it: without a path, and without a port that goes without saying. */
function isOrigin(text: string): boolean {
  return text === '*' || (/^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text)
}

function isNetwork(text: string): boolean {
  const [address = '', bits, more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more !== undefined) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

interface Range {
  readonly min: number
  readonly max: number
}

class Reader {
  readonly #environment: Environment
  readonly #wrong: string[]

  constructor(environment: Environment, wrong: string[]) {
    this.#environment = environment
    this.#wrong = wrong
  }

  refuse(name: Name, what: string): void {
    this.#wrong.push(`${name} ${what}`)
  }

  /** An empty value counts as not set: compose files write it so. */
  text(name: Name): string | undefined {
    const value = this.#environment[name]
    return value === undefined || value === '' ? undefined : value
  }

  word<const Words extends readonly string[]>(
    name: Name,
    words: Words,
    otherwise: Words[number],
  ): Words[number] {
    const text = this.text(name)
    if (text === undefined) return otherwise
    const word = words.find((candidate) => candidate === text)
    if (word === undefined) this.refuse(name, `is "${text}"; expected one of ${words.join(', ')}`)
    return word ?? otherwise
  }

  /** With commas between its items. */
  list(name: Name, isRight: (item: string) => boolean, expected: string): readonly string[] {
    const items = (this.text(name) ?? '').split(',').flatMap((item) => item.trim() || [])
    const wrong = items.find((item) => !isRight(item))
    if (wrong !== undefined)
      this.refuse(name, `has "${wrong}"; expected ${expected}, with commas between them`)
    return items
  }

  /** The value is not shown: it may be a secret. */
  matching(name: Name, pattern: RegExp, expected: string): string | undefined {
    const text = this.text(name)
    if (text !== undefined && !pattern.test(text)) this.refuse(name, `expected ${expected}`)
    return text
  }

  number(name: Name, range: Range & { readonly default: number }): number {
    return this.numberIfSet(name, range) ?? range.default
  }

  numberIfSet(name: Name, { min, max }: Range): number | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= min && value <= max))
      this.refuse(name, `is "${text}"; expected a whole number from ${min} to ${max}`)
    return value
  }
}
