// The embedded profile: everything in this process or a child of it.
import { ANSWER_TABLES, openLmdbAnswers } from '../../../engine/adapters/answers/lmdb.ts'
import { openFileBlobs } from '../../../engine/adapters/blobs/files.ts'
import { S3Blobs } from '../../../engine/adapters/blobs/s3.ts'
import { EmbeddedBroker } from '../../../engine/adapters/broker/embedded/embedded.ts'
import { openDataDir } from '../../../engine/adapters/data-dir/data-dir.ts'
import { LmdbEnv } from '../../../engine/adapters/lmdb/lmdb-env.ts'
import { openLmdbLog } from '../../../engine/adapters/log/lmdb/lmdb.ts'
import { openLmdbStore, STORE_TABLES } from '../../../engine/adapters/store/lmdb.ts'
import { embeddedTelemetry } from '../../../engine/adapters/telemetry/chdb/embedded.ts'
import { MemoryTickets } from '../../../engine/adapters/tickets/memory.ts'
import { openLmdbUsers, USER_TABLES } from '../../../engine/adapters/users/lmdb.ts'
import { partitionOf } from '../../../engine/index.ts'
import { LIMITS } from '../../../engine/limits.ts'
import { openFilesMax } from '../../open-files.ts'
import type { EmbeddedSettings, Settings } from '../settings/settings.ts'
import { systemClock } from '../system-clock.ts'
import { openOutbound } from './outbound.ts'
import type { OpenProfile, ProfilePorts } from './profile.ts'
import { warnOfClickHouse } from './wait-for-server.ts'

/** Needs only npm packages. All data is in one directory. */
export async function openEmbedded(
  settings: Settings & { readonly profile: EmbeddedSettings },
  ports: ProfilePorts,
): Promise<OpenProfile> {
  const { logger, tls } = ports
  const { durability, host, profile } = settings
  const { mqttPort: port, devicePublishRate: publishRateMax, handshakesPerAddressMax } = profile
  const dir = await openDataDir(profile.dataDir)
  const secure =
    tls === undefined || settings.tls === undefined
      ? undefined
      : {
          port: settings.tls.mqttsPort,
          wsPort: settings.tls.mqttWsPort,
          minVersion: settings.tls.minVersion,
          tls,
        }
  // Always fsynced, whatever the durability of the log, because a power cut must not corrupt users and devices.
  const env = new LmdbEnv({
    path: dir.store,
    durability: 'power',
    tables: [...STORE_TABLES, ...USER_TABLES, ...ANSWER_TABLES],
  })
  const store = openLmdbStore(env, { partitionOf })
  const users = openLmdbUsers(env)
  const applied = store.applied()
  const settled = store.inserted()
  const notBefore = settled.map((seq, partition) => Math.max(seq, applied[partition] ?? 0))
  const log = openLmdbLog({ path: dir.log, durability, notBefore, settled })
  const { retentionDays, auditRetentionDays, alertRetentionDays } = settings
  const kept = { retentionDays, auditRetentionDays, alertRetentionDays }
  const telemetry = embeddedTelemetry({ path: dir.telemetry, ...kept, logger })
  const blobs = settings.s3 === undefined ? await openFileBlobs(dir.blobs) : new S3Blobs(settings.s3)
  const broker = new EmbeddedBroker({
    ...{ host, port, secure, clock: systemClock },
    ...{ publishRateMax, handshakesPerAddressMax, openFilesMax: openFilesMax() },
    turnedAway: (connections, connectionsMax) =>
      logger.warn(
        { connections, connectionsMax },
        'MQTT connections were closed at once because as many as fit are open; half of the files that this process may ' +
          'have open are for them, so raise that limit (ulimit -n, or LimitNOFILE of the systemd unit)',
      ),
  })
  const outbound = openOutbound(settings, ports)
  return {
    ports: { clock: systemClock, log, store, users, telemetry, broker, blobs, outbound },
    apiStores: {
      answers: openLmdbAnswers(env),
      tickets: new MemoryTickets(systemClock),
      loginTickets: new MemoryTickets(systemClock, LIMITS.loginTicketMs),
      rates: undefined,
      downloadPlaces: undefined,
    },
    openRest: () => telemetry.begin(warnOfClickHouse(logger)),
    release: () => dir.release(),
  }
}
