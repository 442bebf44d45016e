// Checks the audit: each change that was answered is in it, once.
import type { Call, DeviceOutcome, Recording } from '../recording.ts'
import { groupedBy } from './grouped.ts'
import type { Violation } from './violation.ts'

const CHANGES: ReadonlySet<string> = new Set(['desire', 'command', 'cancel'])

export function checkAudit({ calls, stored }: Recording): readonly Violation[] {
  const byDevice = groupedBy(calls, ({ device }) => device)
  return stored.flatMap((outcome) => [
    ...doubled(outcome),
    ...missing(outcome, byDevice.get(outcome.device) ?? []),
  ])
}

function doubled({ device, audited }: DeviceOutcome): readonly Violation[] {
  return [...groupedBy(audited, (requestId) => requestId)]
    .filter(([, entries]) => entries.length > 1)
    .map(([requestId, { length }]) => ({
      check: 'audit',
      device,
      text: `${requestId} is in the audit ${length} times`,
    }))
}

function missing({ device, audited }: DeviceOutcome, calls: readonly Call[]): readonly Violation[] {
  const found = new Set(audited)
  return calls
    .filter(({ kind, status = 0 }) => CHANGES.has(kind) && status >= 200 && status < 300)
    .filter(({ requestId = '' }) => !found.has(requestId))
    .map(({ kind, caller, to, requestId }) => {
      const text = `${kind} of ${caller} was answered at ${to}, and ${requestId} is not in the audit`
      return { check: 'audit', device, text, isAbsence: true }
    })
}
