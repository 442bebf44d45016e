// The settings of the cluster profile: the addresses of its servers, and the roles of this node.
import { type Address, parseAddress } from './address.ts'
import { CLUSTER_NAMES, EMBEDDED_NAMES, type Name } from './names.ts'
import type { Reader } from './reader.ts'

export const ROLES = ['ingress', 'engine', 'api'] as const
export type Role = (typeof ROLES)[number]

export interface ClusterSettings {
  readonly kind: 'cluster'
  /** The part of the work that this process does. */
  readonly roles: readonly Role[]
  /** A name for logs only. Nodes identify each other by generated ids. */
  readonly nodeName: string | undefined
  readonly nats: NatsSettings
  readonly redisUrl: string
  readonly clickhouse: {
    readonly url: string
    /** Name of the ClickHouse cluster. If set, tables are replicated across its servers. */
    readonly cluster: string | undefined
  }
  readonly mqtt: MqttSettings
}

export interface NatsSettings {
  /** Each as `host:port`. */
  readonly servers: readonly string[]
  readonly isTls: boolean
  readonly user: string | undefined
  readonly password: string | undefined
  /** URLs of HTTP monitoring. */
  readonly monitors: readonly string[]
  readonly replicas: number
}

/** The mode `plain` is for any MQTT 5 broker, without the rules and the REST API of EMQX. */
export interface MqttSettings {
  readonly mode: 'emqx' | 'plain'
  readonly url: string
  /** The address that devices get. */
  readonly publicUrl: string
  readonly ingestPassword: string | undefined
  readonly apiPassword: string | undefined
  readonly emqxApi: { readonly url: string; readonly key: string; readonly secret: string } | undefined
}

const EXAMPLES = {
  FLEET_NATS_URL: 'nats://fleet:password@nats:4222',
  FLEET_REDIS_URL: 'redis://fleet:password@redis:6379',
  FLEET_CLICKHOUSE_URL: 'http://fleet:password@clickhouse:8123',
  FLEET_MQTT_URL: 'mqtt://emqx:1884',
  FLEET_MQTT_INGEST_PASSWORD: '<password of fleet:ingest>',
  FLEET_MQTT_API_PASSWORD: '<password of fleet:api>',
  FLEET_EMQX_API_URL: 'http://emqx:18083',
  FLEET_EMQX_API_KEY: 'fleet',
  FLEET_EMQX_API_SECRET: '<secret of the key>',
} as const satisfies Partial<Record<Name, string>>
type RequiredName = keyof typeof EXAMPLES

export function readCluster(reader: Reader): ClusterSettings {
  const roles = readRoles(reader)
  const mode = reader.word('FLEET_MQTT_MODE', ['emqx', 'plain'], 'emqx')
  refuseMissing(reader, { roles, mode })
  const url = (name: RequiredName, schemes: readonly string[]) =>
    reader.url(name, schemes, EXAMPLES[name]) ?? ''
  return {
    kind: 'cluster',
    roles,
    nodeName: reader.matching(
      'FLEET_NODE_NAME',
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
      'up to 64 letters, digits, dots, dashes and underscores',
    ),
    nats: readNats(reader),
    redisUrl: url('FLEET_REDIS_URL', ['redis', 'rediss']),
    clickhouse: {
      url: url('FLEET_CLICKHOUSE_URL', ['http', 'https']),
      cluster: reader.matching(
        'FLEET_CLICKHOUSE_CLUSTER',
        /^[A-Za-z0-9_-]{1,64}$/,
        'the name of a cluster in the configuration of ClickHouse',
      ),
    },
    mqtt: readMqtt(reader, { mode, url: url('FLEET_MQTT_URL', ['mqtt', 'mqtts']) }),
  }
}

/** Refuses settings of the other profile, which would have no effect. */
export function refuseForeign(reader: Reader, profile: 'embedded' | 'cluster'): void {
  const foreign = profile === 'embedded' ? CLUSTER_NAMES : EMBEDDED_NAMES
  const name = foreign.find((name) => reader.text(name) !== undefined)
  if (name !== undefined)
    reader.refuse(
      name,
      profile === 'embedded'
        ? 'is a setting of the cluster profile; set FLEET_PROFILE=cluster as well'
        : 'is a setting of the embedded profile; remove it, or remove FLEET_PROFILE=cluster',
    )
}

function readRoles(reader: Reader): readonly Role[] {
  const named = new Set(
    reader.list('FLEET_ROLES', (item) => ROLES.some((role) => role === item), `some of ${ROLES.join(', ')}`),
  )
  return named.size === 0 ? ROLES : ROLES.filter((role) => named.has(role))
}

/** Reports all missing settings at once, to spare the operator one start per setting. */
function refuseMissing(
  reader: Reader,
  { roles, mode }: Pick<ClusterSettings, 'roles'> & Pick<MqttSettings, 'mode'>,
): void {
  const [isEngine, isIngress] = [roles.includes('engine'), roles.includes('ingress')]
  const needed: readonly RequiredName[] = [
    'FLEET_NATS_URL',
    'FLEET_REDIS_URL',
    'FLEET_CLICKHOUSE_URL',
    'FLEET_MQTT_URL',
    ...(mode === 'emqx' && isIngress ? (['FLEET_MQTT_INGEST_PASSWORD'] as const) : []),
    ...(mode === 'emqx' && isEngine ? (['FLEET_MQTT_API_PASSWORD'] as const) : []),
    ...(mode === 'emqx' && (isEngine || isIngress)
      ? (['FLEET_EMQX_API_URL', 'FLEET_EMQX_API_KEY', 'FLEET_EMQX_API_SECRET'] as const)
      : []),
  ]
  const [first, ...more] = needed.filter((name) => reader.text(name) === undefined)
  if (first === undefined) return
  const shown = (name: RequiredName) => `${name}=${EXAMPLES[name]}`
  const also = more.length === 0 ? '' : `; also required: ${more.map(shown).join(' ')}`
  reader.refuse(first, `is required in the cluster profile, for example ${shown(first)}${also}`)
}

function readNats(reader: Reader): NatsSettings {
  const urls = reader.urls('FLEET_NATS_URL', ['nats', 'tls'], EXAMPLES.FLEET_NATS_URL)
  const addresses = urls.map(parseAddress).filter((address) => address !== undefined)
  const accounts = addresses.filter(({ user }) => user !== undefined)
  const [account] = accounts
  const isAlike = (other: Address) => other.user === account?.user && other.password === account?.password
  if (!accounts.every(isAlike))
    reader.refuse('FLEET_NATS_URL', 'has different credentials; expected the same for all servers')
  const replicas = reader.word('FLEET_NATS_REPLICAS', ['1', '3', '5'], '1')
  return {
    servers: addresses.map(({ host }) => host),
    isTls: addresses.some(({ scheme }) => scheme === 'tls'),
    user: account?.user,
    password: account?.password,
    monitors: reader.urls('FLEET_NATS_MONITOR_URL', ['http', 'https'], 'http://nats:8222'),
    replicas: Number(replicas),
  }
}

function readMqtt(reader: Reader, { mode, url }: Pick<MqttSettings, 'mode' | 'url'>): MqttSettings {
  const schemes = ['mqtt', 'mqtts', 'ws', 'wss']
  const publicUrl = reader.url('FLEET_MQTT_PUBLIC_URL', schemes, 'mqtts://fleet.example.com:8883')
  const api = {
    url: reader.url('FLEET_EMQX_API_URL', ['http', 'https'], EXAMPLES.FLEET_EMQX_API_URL),
    key: reader.text('FLEET_EMQX_API_KEY'),
    secret: reader.text('FLEET_EMQX_API_SECRET'),
  }
  return {
    mode,
    url,
    publicUrl: publicUrl ?? url,
    ingestPassword: reader.text('FLEET_MQTT_INGEST_PASSWORD'),
    apiPassword: reader.text('FLEET_MQTT_API_PASSWORD'),
    emqxApi:
      mode === 'plain' || api.url === undefined || api.key === undefined || api.secret === undefined
        ? undefined
        : { url: api.url, key: api.key, secret: api.secret },
  }
}
