// Checks what devices know: in the end each was told the desired state that is stored.
import type { Recording } from '../recording.ts'
import { groupedBy } from './grouped.ts'
import type { Violation } from './violation.ts'

export function checkDesired({ desired, stored }: Recording): readonly Violation[] {
  const byDevice = groupedBy(desired, ({ device }) => device)
  return stored.flatMap(({ device, shadow }): Violation[] => {
    const last = byDevice.get(device)?.at(-1)
    if (last?.value === shadow.desired) return []
    const known =
      last === undefined ? 'was told nothing' : `was told ${last.value} last, version ${last.version},`
    const text = `${known} and ${shadow.desired} is desired, version ${shadow.version}`
    return [{ check: 'desired', device, text, isAbsence: true }]
  })
}
