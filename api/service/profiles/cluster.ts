// The cluster profile: one node among others, on shared servers.
import { randomUUID } from 'node:crypto'
import { openRedisAnswers } from '../../../engine/adapters/answers/redis.ts'
import { S3Blobs } from '../../../engine/adapters/blobs/s3.ts'
import { openMqttBroker } from '../../../engine/adapters/broker/outside/mqtt.ts'
import { openRedisDownloadLeases } from '../../../engine/adapters/download-leases/redis.ts'
import { openJetStreamLog } from '../../../engine/adapters/log/jetstream/jetstream.ts'
import { openNatsMesh } from '../../../engine/adapters/mesh/nats.ts'
import { openNats } from '../../../engine/adapters/nats/nats-link.ts'
import { openKvOwnership } from '../../../engine/adapters/ownership/jetstream-kv.ts'
import { openRedisRates } from '../../../engine/adapters/rates/redis.ts'
import { RedisLink } from '../../../engine/adapters/redis/redis-link.ts'
import { openRedisStore } from '../../../engine/adapters/store/redis/redis.ts'
import { serverTelemetry } from '../../../engine/adapters/telemetry/clickhouse/server.ts'
import { openRedisTickets } from '../../../engine/adapters/tickets/redis.ts'
import { openRedisUsers } from '../../../engine/adapters/users/redis.ts'
import { partitionOf, realSchedule } from '../../../engine/index.ts'
import { LIMITS } from '../../../engine/limits.ts'
import { parsePrivateKey } from '../../auth/pem-key.ts'
import { API_LIMITS } from '../../limits.ts'
import type { Logger } from '../../logger.ts'
import type { ClusterSettings } from '../settings/cluster.ts'
import type { Settings } from '../settings/settings.ts'
import { systemClock } from '../system-clock.ts'
import { openOutbound } from './outbound.ts'
import { CLUSTER_NAME as NAME, type OpenProfile, type ProfilePorts } from './profile.ts'
import { waitForServer, warnOfClickHouse } from './wait-for-server.ts'

type Warn = (message: string, fields: Readonly<Record<string, unknown>>) => void
type ClusterProfileSettings = Settings & { readonly profile: ClusterSettings }

/** Waits for all servers except ClickHouse: rows can wait for it in the log. */
export async function openCluster(
  settings: ClusterProfileSettings,
  ports: ProfilePorts,
): Promise<OpenProfile> {
  const { logger, fatal } = ports
  const { profile } = settings
  const node = randomUUID()
  const warn: Warn = (message, fields) => logger.warn(fields, message)
  warnOfKey(settings, logger)
  warnOfLinks(settings, logger)
  const nats = await openLink(settings, logger)
  const redis = await waitForServer(
    () => RedisLink.open({ url: profile.redisUrl, prefix: NAME, node, lost: fatal }),
    { logger },
  )
  const store = await waitForServer(() => openRedisStore(redis, { partitionOf }), { logger })
  const { users, close: closeUsers } = await waitForServer(() => openRedisUsers(redis), { logger })
  const { replicas } = profile.nats
  const applied = store.applied()
  const notBefore = store.inserted().map((seq, partition) => Math.max(seq, applied[partition] ?? 0))
  const log = await waitForServer(
    () => openJetStreamLog(nats, { name: NAME, replicas, notBefore, lost: fatal, warn }),
    { logger },
  )
  const tableOf = (of: 'owners' | 'lanes', above: number) =>
    waitForServer(() => openKvOwnership(nats, { name: NAME, table: of, replicas, epochMin: above }), {
      logger,
    })
  const owners = await tableOf('owners', Math.max(...store.epochs()))
  const lanes = await tableOf('lanes', 0)
  const mesh = openNatsMesh(nats, { address: node, name: NAME, warn })
  const broker = openBroker(settings, node, warn)
  const { retentionDays, auditRetentionDays, alertRetentionDays } = settings
  const kept = { retentionDays, auditRetentionDays, alertRetentionDays }
  const telemetry = serverTelemetry({ ...profile.clickhouse, ...kept })
  return {
    ports: {
      clock: systemClock,
      log,
      store,
      users,
      telemetry,
      broker,
      blobs: settings.s3 && new S3Blobs(settings.s3),
      outbound: openOutbound(settings, ports),
      cluster: { mesh, owners, lanes: { owners: lanes, reader: broker } },
    },
    apiStores: {
      answers: openRedisAnswers(redis),
      tickets: openRedisTickets(redis),
      loginTickets: openRedisTickets(redis, LIMITS.loginTicketMs),
      rates: openRedisRates(redis),
      downloadPlaces: openRedisDownloadLeases(redis, {
        readersMax: settings.ota.downloadsMax,
        streamsPerReaderMax: API_LIMITS.streamsPerReaderMax,
        heldMs: API_LIMITS.downloadPlaceMs,
      }),
    },
    openRest: () => telemetry.begin(warnOfClickHouse(logger)),
    async release() {
      await closeUsers()
      await mesh.close()
      redis.close()
      await nats.close()
    },
  }
}

/** EMQX's rule that checks device tokens needs an RSA key. Other setups may work with a secret. */
function warnOfKey({ profile, signing }: ClusterProfileSettings, logger: Logger): void {
  const alg = signing.kind === 'private_key' ? parsePrivateKey(signing.pem)?.alg : undefined
  if (profile.mqtt.mode === 'emqx' && alg !== 'RS256')
    logger.warn(
      {},
      'EMQX can only check device tokens signed with an RSA key; set FLEET_JWT_PRIVATE_KEY to an RSA key',
    )
}

/** Unless a public address is set, image links sent to a device contain the address of the node that sends them. */
function warnOfLinks({ profile, ota, publicUrl, s3 }: ClusterProfileSettings, logger: Logger): void {
  const sendsLinks = profile.roles.includes('engine') && s3 !== undefined
  if (sendsLinks && !profile.roles.includes('api') && (ota.publicUrl ?? publicUrl) === undefined)
    logger.warn(
      {},
      'devices cannot load firmware: their links would name this node, which has not the role api; set FLEET_PUBLIC_URL',
    )
}

function openLink({ profile, durability }: ClusterProfileSettings, logger: Logger) {
  const { servers, isTls, user, password, monitors } = profile.nats
  return waitForServer(
    () =>
      openNats({
        servers,
        durability,
        monitors,
        ...(user === undefined ? {} : { user }),
        ...(password === undefined ? {} : { password }),
        isTls,
        warn: (message) => logger.warn({}, message),
      }),
    { logger },
  )
}

function openBroker({ profile }: ClusterProfileSettings, nodeId: string, warn: Warn) {
  const isUsed = profile.roles.some((role) => role !== 'api')
  const { mode, url, publicUrl, ingestPassword, apiPassword, emqxApi } = profile.mqtt
  return openMqttBroker({
    url,
    publicUrl,
    mode,
    ingest: { user: 'fleet:ingest', password: ingestPassword ?? '' },
    api: { user: 'fleet:api', password: apiPassword ?? '' },
    ...(emqxApi === undefined ? {} : { emqxApi }),
    nodeId,
    clock: systemClock,
    schedule: realSchedule,
    partitionOf,
    // A node with the role `api` alone does not use the broker, so its warnings do not matter.
    warn: isUsed ? (message, about) => warn(message, { ...about }) : () => {},
  })
}
