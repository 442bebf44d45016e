// Runs every checker on a recording.
import type { Recording } from '../recording.ts'
import { checkAudit } from './audit.ts'
import { checkCommands } from './commands.ts'
import { checkDesired } from './desired.ts'
import { checkLive } from './live.ts'
import { checkMessages } from './messages.ts'
import { checkReads } from './reads.ts'
import { checkRevocations } from './revocations.ts'
import { checkRollouts } from './rollouts.ts'
import { checkShadows } from './shadows.ts'
import { checkSilences } from './silences.ts'
import type { Violation } from './violation.ts'

const CHECKS = [
  checkMessages,
  checkShadows,
  checkCommands,
  checkReads,
  checkRollouts,
  checkDesired,
  checkSilences,
  checkAudit,
  checkLive,
  checkRevocations,
]

export function checkAll(recording: Recording): readonly Violation[] {
  return CHECKS.flatMap((check) => check(recording))
}
