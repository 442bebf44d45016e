// `node deploy/secrets.mjs [folder]`: makes every secret that the servers of deploy/compose need, in a folder that git
// ignores (deploy/secrets). It needs no packages. It keeps existing secrets and adds missing ones. To change a secret,
// remove it from secrets.json, run this again, and restart the servers that use it. `emqx_dashboard` is an exception,
// because EMQX reads it only at its first start (`emqx ctl admins passwd admin <password>` changes it later).
import { createHash, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MASTER = 'secrets.json'
/** A password begins with a letter, because NATS would read a variable that begins with a digit as a number. */
const password = () => `k${randomBytes(24).toString('hex')}`
const rsaKey = () =>
  generateKeyPairSync('rsa', {
    modulusLength: 3072,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  }).privateKey

const MAKERS = {
  // The key is RSA, because EMQX cannot verify Ed25519.
  jwt_private_key: rsaKey,
  admin_password: password,
  emqx_cookie: password,
  emqx_dashboard: password,
  // This key signs the tokens with which Fleet logs in to EMQX.
  emqx_service_key: rsaKey,
  emqx_api_key: password,
  nats_fleet: password,
  nats_operator: password,
  nats_system: password,
  redis_fleet: password,
  redis_operator: password,
  redis_exporter: password,
  clickhouse_fleet: password,
  clickhouse_reader: password,
  grafana_admin: password,
}

/** User ids inside the images. They own the files mounted there, so that nobody else can read them. */
const EMQX = 1000
const REDIS = 999

/** The files for the servers. Those with an `owner` are mounted into a container; compose itself reads the others. */
function filesOf(secrets) {
  const sha256 = (name) => createHash('sha256').update(secrets[name]).digest('hex')
  return {
    'fleet.env': {
      text: environment({
        FLEET_JWT_PRIVATE_KEY: secrets.jwt_private_key.trim().replaceAll('\n', '\\n'),
        FLEET_ADMIN_EMAIL: 'admin@fleet.invalid',
        FLEET_ADMIN_PASSWORD: secrets.admin_password,
      }),
    },
    'fleet-servers.env': { text: environment(serversOf(secrets, { nats: 'nats://', names: ['nats'] })) },
    // cluster.yaml has three NATS servers with TLS.
    'fleet-servers-cluster.env': {
      text: environment(serversOf(secrets, { nats: 'tls://', names: ['nats-1', 'nats-2', 'nats-3'] })),
    },
    'emqx.env': {
      text: environment({
        EMQX_NODE__COOKIE: secrets.emqx_cookie,
        EMQX_DASHBOARD__DEFAULT_PASSWORD: secrets.emqx_dashboard,
      }),
    },
    'emqx-services.pem': {
      owner: EMQX,
      text: createPublicKey(secrets.emqx_service_key).export({ type: 'spki', format: 'pem' }),
    },
    'emqx-api-keys.txt': { owner: EMQX, text: `fleet:${secrets.emqx_api_key}\n` },
    'nats.env': {
      text: environment({
        NATS_FLEET_PASSWORD: secrets.nats_fleet,
        NATS_OPERATOR_PASSWORD: secrets.nats_operator,
        NATS_SYSTEM_PASSWORD: secrets.nats_system,
      }),
    },
    'redis-users.acl': { owner: REDIS, text: redisUsers(sha256) },
    'redis.env': {
      text: environment({ REDISCLI_AUTH: secrets.redis_exporter, REDIS_PASSWORD: secrets.redis_exporter }),
    },
    'clickhouse.env': {
      text: environment({
        FLEET_CLICKHOUSE_SERVICE_SHA256: sha256('clickhouse_fleet'),
        FLEET_CLICKHOUSE_READER_SHA256: sha256('clickhouse_reader'),
        FLEET_CLICKHOUSE_PASSWORD: secrets.clickhouse_fleet,
      }),
    },
    'grafana.env': { text: environment({ GF_SECURITY_ADMIN_PASSWORD: secrets.grafana_admin }) },
  }
}

/** Addresses of the servers of deploy/compose, with the service's account on each. */
function serversOf(secrets, { nats, names }) {
  return {
    FLEET_NATS_URL: names.map((name) => `${nats}fleet:${secrets.nats_fleet}@${name}:4222`).join(','),
    FLEET_REDIS_URL: `redis://fleet:${secrets.redis_fleet}@redis:6379`,
    FLEET_CLICKHOUSE_URL: `http://fleet:${secrets.clickhouse_fleet}@clickhouse:8123`,
    FLEET_MQTT_INGEST_PASSWORD: serviceToken('fleet:ingest', secrets.emqx_service_key),
    FLEET_MQTT_API_PASSWORD: serviceToken('fleet:api', secrets.emqx_service_key),
    FLEET_EMQX_API_KEY: 'fleet',
    FLEET_EMQX_API_SECRET: secrets.emqx_api_key,
  }
}

/** The rights of Fleet's accounts at EMQX. A subscription is allowed only if the list has its filter or a wider one. */
const SERVICE_RIGHTS = {
  'fleet:ingest': { subscribe: ['ingest/#'] },
  'fleet:api': { publish: ['fleet/+/#', 'fleet/$broadcast/#', 'fleet/$group/#'], subscribe: ['fleet/#'] },
}

/**
 * Returns the password of an account at EMQX, which is a token that never expires. EMQX verifies it and takes the rights
 * from its list. The same key always gives the same token.
 */
export function serviceToken(name, key) {
  const acl = [
    ...Object.entries(SERVICE_RIGHTS[name]).map(([action, topics]) => ({
      permission: 'allow',
      action,
      topics,
    })),
    { permission: 'deny', action: 'all', topic: '#' },
  ]
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ sub: name, scope: 'service', acl })}`
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
}

/**
 * Returns the list of Redis users. The service may not empty, stop or reconfigure the server. It needs `CONFIG GET` to check
 * that writes reach the disk. `sha256` returns the hash of a secret by its name.
 */
export function redisUsers(sha256) {
  return [
    // Nobody can log in as the default user, but it needs every permission. When Redis starts, it replays its file as this
    // user. Without permissions it would refuse every transaction and script in the file, and so lose the records.
    'user default off resetpass ~* &* +@all',
    `user fleet on #${sha256('redis_fleet')} ~* &* +@all -@admin -@dangerous +info +config|get`,
    `user operator on #${sha256('redis_operator')} ~* &* +@all`,
    `user exporter on #${sha256('redis_exporter')} resetkeys resetchannels -@all +ping +info +config|get +dbsize +latency +slowlog +client|setname`,
    '',
  ].join('\n')
}

function environment(variables) {
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

/** Returns the secrets, and the files whose owner must still be changed. Changing it needs root. */
export function makeSecrets(folder, { isRoot = process.getuid?.() === 0 } = {}) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
  const master = join(folder, MASTER)
  const present = existsSync(master) ? JSON.parse(readFileSync(master, 'utf8')) : {}
  const secrets = Object.fromEntries(
    Object.entries(MAKERS).map(([name, make]) => [name, present[name] ?? make()]),
  )
  write(master, `${JSON.stringify({ ...present, ...secrets }, undefined, 2)}\n`)
  const foreign = []
  for (const [name, { text, owner }] of Object.entries(filesOf(secrets))) {
    const path = join(folder, name)
    write(path, text)
    if (owner === undefined) continue
    if (isRoot) chownSync(path, owner, owner)
    else foreign.push({ path, owner })
  }
  return { secrets, foreign }
}

/** Sets the mode of an existing file before a secret is written to it. */
function write(path, text) {
  if (existsSync(path)) chmodSync(path, 0o600)
  writeFileSync(path, text, { mode: 0o600 })
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2] ?? fileURLToPath(new URL('./secrets', import.meta.url))
  const { foreign } = makeSecrets(folder)
  process.stdout.write(`${folder}: secrets.json and the files made from it, which only you can read\n`)
  for (const { path, owner } of foreign) process.stdout.write(`  sudo chown ${owner}:${owner} ${path}\n`)
}
