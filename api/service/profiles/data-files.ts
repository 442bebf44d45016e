// Backs up and restores the data directory of an embedded service.
import { Fault } from '../../../engine/ports/fault.ts'
import { toIso } from '../../../schemas/ids.ts'
import type { Settings } from '../settings/settings.ts'
import { systemClock } from '../system-clock.ts'

/** The service may keep running. Resolves with one line for the operator. */
export async function backupData(settings: Settings, to: string): Promise<string> {
  const { backupDataDir } = await import('../../../engine/adapters/data-dir/backup.ts')
  const startedAt = toIso(systemClock.now())
  await backupDataDir(dataDirOf(settings), to, startedAt)
  return `wrote ${to}, with everything that was acknowledged before ${startedAt}`
}

export async function restoreData(settings: Settings, from: string): Promise<string> {
  const { restoreDataDir } = await import('../../../engine/adapters/data-dir/backup.ts')
  const dataDir = dataDirOf(settings)
  return `restored ${dataDir} from a backup of ${await restoreDataDir(from, dataDir)}`
}

function dataDirOf({ profile }: Settings): string {
  if (profile.kind === 'embedded') return profile.dataDir
  throw new Fault('DATA_DIR_UNUSABLE', {
    retryable: false,
    message: 'a cluster has no data directory; deploy/README.md says how to back up its servers',
  })
}
