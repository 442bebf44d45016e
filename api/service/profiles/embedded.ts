// The embedded profile: everything in this process or a child of it.
import { ANSWER_TABLES, openLmdbAnswers } from '../../../engine/adapters/answers/lmdb.ts'
import { EmbeddedBroker } from '../../../engine/adapters/broker/embedded/embedded.ts'
import { openDataDir } from '../../../engine/adapters/data-dir/data-dir.ts'
import { LmdbEnv } from '../../../engine/adapters/lmdb/lmdb-env.ts'
import { openLmdbLog } from '../../../engine/adapters/log/lmdb/lmdb.ts'
import { openLmdbStore, STORE_TABLES } from '../../../engine/adapters/store/lmdb.ts'
import { embeddedTelemetry } from '../../../engine/adapters/telemetry/chdb/embedded.ts'
import { MemoryTickets } from '../../../engine/adapters/tickets/memory.ts'
import { openLmdbUsers, USER_TABLES } from '../../../engine/adapters/users/lmdb.ts'
import { partitionOf } from '../../../engine/index.ts'
import type { EmbeddedSettings, Settings } from '../settings/settings.ts'
import { systemClock } from '../system-clock.ts'
import type { OpenProfile, ProfilePorts } from './profile.ts'
import { warnOfClickHouse } from './wait-for-server.ts'

/** Needs only npm packages. All data lies in one directory. */
export async function openEmbedded(
  settings: Settings & { readonly profile: EmbeddedSettings },
  { logger, tls }: ProfilePorts,
): Promise<OpenProfile> {
  const { durability, host, profile } = settings
  const { mqttPort: port, devicePublishRate: publishRateMax } = profile
  const dir = await openDataDir(profile.dataDir)
  const secure =
    tls === undefined || settings.tls === undefined
      ? undefined
      : { port: settings.tls.mqttsPort, wsPort: settings.tls.mqttWsPort, tls }
  // Always fsynced, whatever the durability of the log: a power cut must not tear the file of users and devices.
  const env = new LmdbEnv({
    path: dir.store,
    durability: 'power',
    tables: [...STORE_TABLES, ...USER_TABLES, ...ANSWER_TABLES],
  })
  const store = openLmdbStore(env, { partitionOf })
  const users = openLmdbUsers(env)
  const applied = store.applied()
  const notBefore = store.inserted().map((seq, partition) => Math.max(seq, applied[partition] ?? 0))
  const log = openLmdbLog({ path: dir.log, durability, notBefore })
  const { retentionDays, auditRetentionDays } = settings
  const telemetry = embeddedTelemetry({ path: dir.telemetry, retentionDays, auditRetentionDays, logger })
  const broker = new EmbeddedBroker({ host, port, secure, clock: systemClock, publishRateMax })
  return {
    ports: { clock: systemClock, log, store, users, telemetry, broker },
    apiStores: { answers: openLmdbAnswers(env), tickets: new MemoryTickets(systemClock), rates: undefined },
    openRest: () => telemetry.begin(warnOfClickHouse(logger)),
    release: () => dir.release(),
  }
}
