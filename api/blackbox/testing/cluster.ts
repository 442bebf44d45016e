// Starts the servers of the cluster profile for tests: real ones, with a stand-in for a ClickHouse server, and one for EMQX
// unless TEST_EMQX_HOME names an installation. Each may be killed, paused and restarted; `settings` are those of a node of
// the service.
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jwtVerify } from 'jose'
import { toAclRules } from '../../../deploy/testing/acl.ts'
import { S3_SERVER, S3Server } from '../../../engine/adapters/blobs/testing/s3-server.ts'
import type { VerifiedClient } from '../../../engine/adapters/broker/testing/emqx/connection.ts'
import { EMQX_HOME, RealEmqx } from '../../../engine/adapters/broker/testing/emqx/real-emqx.ts'
import { EmqxStandIn, MOSQUITTO } from '../../../engine/adapters/broker/testing/emqx/stand-in.ts'
import { NATS_SERVER, NatsServer } from '../../../engine/adapters/nats/testing/nats-server.ts'
import { REDIS_SERVER, RedisServer } from '../../../engine/adapters/redis/testing/redis-server.ts'
import { ChdbSupervisor } from '../../../engine/adapters/telemetry/chdb/chdb-supervisor.ts'
import { urlOf } from '../../../engine/adapters/telemetry/testing/telemetry.ts'

/** A cluster needs all of these servers. */
export const HAS_CLUSTER_SERVERS = [NATS_SERVER, REDIS_SERVER, MOSQUITTO].every((path) => path !== undefined)

export class ClusterServers {
  readonly nats: NatsServer
  readonly redis: RedisServer
  readonly broker: EmqxStandIn | RealEmqx
  /** Restarts by itself when it is killed. */
  readonly clickhouse: ChdbSupervisor
  /** Undefined where no versitygw was found; firmware has no place then. */
  readonly s3: S3Server | undefined
  readonly #bucket: string | undefined
  readonly #key: KeyObject
  readonly #folder: string

  private constructor(parts: {
    readonly nats: NatsServer
    readonly redis: RedisServer
    readonly broker: EmqxStandIn | RealEmqx
    readonly clickhouse: ChdbSupervisor
    readonly s3: S3Server | undefined
    readonly key: KeyObject
    readonly folder: string
  }) {
    this.nats = parts.nats
    this.redis = parts.redis
    this.broker = parts.broker
    this.clickhouse = parts.clickhouse
    this.s3 = parts.s3
    this.#bucket = parts.s3?.bucket()
    this.#key = parts.key
    this.#folder = parts.folder
  }

  /** `telemetryDir` is where ClickHouse keeps its tables, if the caller has a place for them. */
  static async start({
    telemetryDir,
  }: {
    readonly telemetryDir?: string | undefined
  } = {}): Promise<ClusterServers> {
    if (!HAS_CLUSTER_SERVERS)
      throw new Error('a cluster needs nats-server, redis-server and mosquitto, which `npm test` finds')
    // EMQX verifies RSA but not Ed25519.
    const { privateKey: key } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const verify = createPublicKey(key)
    const folder = mkdtempSync(join(tmpdir(), 'fleet-cluster-'))
    const [nats, redis, broker, clickhouse, s3] = await Promise.all([
      NatsServer.start(),
      RedisServer.start(),
      EMQX_HOME === undefined
        ? EmqxStandIn.start({ authenticate: (attempt) => verifyDevice(attempt, verify) })
        : RealEmqx.start({ key }),
      ChdbSupervisor.open({ dataDir: telemetryDir ?? folder }),
      S3_SERVER === undefined ? undefined : S3Server.start(),
    ])
    return new ClusterServers({ nats, redis, broker, clickhouse, s3, key, folder })
  }

  /** Settings of any node; `FLEET_ROLES` is added. Read them again after a restart of ClickHouse, whose port may change. */
  get settings() {
    const { nats, redis, broker, clickhouse } = this
    return {
      FLEET_PROFILE: 'cluster',
      FLEET_HOST: '127.0.0.1',
      FLEET_REGISTRATION: 'open',
      FLEET_JWT_PRIVATE_KEY: this.#key.export({ type: 'pkcs8', format: 'pem' }).toString(),
      FLEET_NATS_URL: `nats://${nats.url}`,
      FLEET_NATS_MONITOR_URL: nats.monitor,
      FLEET_REDIS_URL: redis.url,
      FLEET_CLICKHOUSE_URL: urlOf(clickhouse.endpoint()),
      FLEET_MQTT_URL: broker.url,
      FLEET_MQTT_PUBLIC_URL: `mqtt://127.0.0.1:${broker.devicePort}`,
      FLEET_MQTT_INGEST_PASSWORD: broker.ingest.password,
      FLEET_MQTT_API_PASSWORD: broker.api.password,
      FLEET_EMQX_API_URL: broker.emqxApi.url,
      FLEET_EMQX_API_KEY: broker.emqxApi.key,
      FLEET_EMQX_API_SECRET: broker.emqxApi.secret,
      ...this.#s3Settings(),
    } as const
  }

  #s3Settings() {
    if (this.s3 === undefined || this.#bucket === undefined) return {}
    const { url, credentials } = this.s3
    return {
      FLEET_S3_URL: url,
      FLEET_S3_BUCKET: this.#bucket,
      FLEET_S3_REGION: credentials.region,
      FLEET_S3_ACCESS_KEY: credentials.accessKey,
      FLEET_S3_SECRET_KEY: credentials.secretKey,
    }
  }

  async stop(): Promise<void> {
    const { nats, redis, broker, clickhouse, s3 } = this
    await Promise.all([nats.remove(), redis.stop(), broker.stop(), clickhouse.close(), s3?.stop()])
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 20 })
  }
}

/** Accepts a token as EMQX does: signed by us, for this device, not expired. Its list of rights and its attributes count. */
async function verifyDevice(
  { clientId, password }: { readonly clientId: string; readonly password: string | undefined },
  key: KeyObject,
): Promise<VerifiedClient | false> {
  try {
    const { payload } = await jwtVerify(password ?? '', key, { subject: clientId })
    if (payload['scope'] !== 'device') return false
    // The token was signed by us.
    const attributes = payload['client_attrs'] as VerifiedClient['attributes']
    return { attributes, acl: toAclRules(payload['acl'] ?? []), expiresAt: (payload.exp ?? 0) * 1_000 }
  } catch {
    // A token that is wrong in any way is refused.
    return false
  }
}
