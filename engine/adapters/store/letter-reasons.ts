// Decides which dead letters a filter selects, and counts letters by reason.
import { Micros, toMillis } from '../../../schemas/ids.ts'
import type { DeadLetter, DeadLetterFilter, LetterReason } from '../../ports/store.ts'

type LetterFacts = Pick<DeadLetter, 'deviceId' | 'reason' | 'receivedAt'>

export function letterFits(letter: LetterFacts, { deviceId, reason, before }: DeadLetterFilter): boolean {
  return (
    (deviceId === undefined || deviceId === letter.deviceId) &&
    (reason === undefined || reason === letter.reason) &&
    (before === undefined || toMillis(letter.receivedAt) < before)
  )
}

export function reasonsOf(letters: Iterable<LetterFacts>): readonly LetterReason[] {
  const byReason = new Map<string, { devices: Set<string>; first: LetterReason }>()
  for (const { deviceId, reason, receivedAt } of letters) {
    const known = byReason.get(reason)
    const first = known?.first ?? { reason, count: 0, devices: 0, oldestAt: receivedAt, newestAt: receivedAt }
    const devices = known?.devices ?? new Set()
    devices.add(deviceId)
    byReason.set(reason, {
      devices,
      first: {
        ...first,
        count: first.count + 1,
        oldestAt: Micros(Math.min(receivedAt, first.oldestAt)),
        newestAt: Micros(Math.max(receivedAt, first.newestAt)),
      },
    })
  }
  return [...byReason.values()]
    .map(({ devices, first }) => ({ ...first, devices: devices.size }))
    .sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1))
}
