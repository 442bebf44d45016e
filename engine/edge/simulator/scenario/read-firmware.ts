// Reads `firmware` of a type: the version that its devices run, and how they carry out updates.
import type { Section } from '../../config/yaml-file.ts'
import { UPDATE_KINDS, type UpdateKind } from '../updates/update-kinds.ts'
import type { Behaviour, FirmwarePlan } from './scenario.ts'

const BEHAVIOURS_MAX = 50
const SECONDS = { min: 0, max: 86_400 }
const RATE = { min: 0, max: 1_048_576 }
const FAILURES = { min: 1, max: 100, isWhole: true }
const PERCENT = { min: 0, max: 100 }
const INSTALL_SEC_DEFAULT = 1.5
const REBOOT_SEC_DEFAULT = 2
const FIRMWARE_VERSION_DEFAULT = '1.0.0'
/** `stall` becomes one of two kinds, depending on the phase in which it happens. */
const STALLS = ['downloading', 'installing'] as const
const KINDS = [...UPDATE_KINDS, 'stall'] as const

export function readFirmware(section: Section): FirmwarePlan {
  const behaviours = section.optionalSections('behaviours', BEHAVIOURS_MAX).map(readBehaviour)
  if (behaviours.reduce((sum, { percent }) => sum + percent, 0) > 100)
    section.refuse('behaviours', 'add up to more than 100 percent')
  const plan: FirmwarePlan = {
    version: section.text('version') ?? FIRMWARE_VERSION_DEFAULT,
    download: section.oneOf('download', ['real', 'fake']) ?? 'real',
    rateKibPerSec: section.number('rate_kib_s', RATE) ?? 0,
    installSec: section.number('install_sec', SECONDS) ?? INSTALL_SEC_DEFAULT,
    rebootSec: section.number('reboot_sec', SECONDS) ?? REBOOT_SEC_DEFAULT,
    behaviours,
  }
  section.end()
  return plan
}

function readBehaviour(section: Section): Behaviour {
  const percent = section.number('percent', PERCENT) ?? 0
  if (!section.has('percent')) section.refuse('percent', 'is required')
  const read = section.oneOf('kind', KINDS)
  if (!section.has('kind')) section.refuse('kind', `is required, one of ${KINDS.join(', ')}`)
  const phase = read === 'stall' ? (section.oneOf('phase', STALLS) ?? 'downloading') : undefined
  const failures = read === 'download_fail' ? section.number('n', FAILURES) : undefined
  // Without a known kind nobody can tell which keys are allowed.
  if (read !== undefined) section.end()
  return { percent, kind: phase === undefined ? plain(read) : `stall_${phase}`, failures: failures ?? 1 }
}

function plain(read: (typeof KINDS)[number] | undefined): UpdateKind {
  return read === undefined || read === 'stall' ? 'ok' : read
}
