// Checks revocations: what was revoked gets nothing more, at any node, and its connections end.
import type { Revocation } from '../live-recording.ts'
import type { FaultNote, Message, Recording } from '../recording.ts'
import { groupedBy } from './grouped.ts'
import type { Violation } from './violation.ts'

/** Enough for any step on a busy machine. The process that answered the revocation knows it at once. */
const KNOWN_MS = 10_000

export function checkRevocations({
  revocations,
  messages,
  faults,
  promises,
}: Recording): readonly Violation[] {
  const byDevice = groupedBy(messages, ({ device }) => device)
  return revocations.flatMap((revocation): readonly Violation[] => {
    const { revokedAt, name } = revocation
    if (revokedAt === undefined) return []
    const isAlone = promises.isFeedLossless
    return [
      // One process that keeps what it answers has nothing to learn.
      ...admitted(revocation, isAlone ? revokedAt : dueAt(revokedAt, faults, isRedis)),
      ...listening(revocation, faults, revokedAt),
      ...connected(revocation, faults, revokedAt),
      // A broker outside lets a void token in, until the service hears of it and ends the session.
      ...(isAlone ? spoken(revocation, byDevice.get(name) ?? [], dueAt(revokedAt, faults, isService)) : []),
    ]
  })
}

/** The latest end of something that begins at `from`, if each fault that touches it delays it. */
function dueAt(from: number, faults: readonly FaultNote[], concerns: (fault: FaultNote) => boolean): number {
  let due = from + KNOWN_MS
  for (const fault of faults.filter(concerns).toSorted((a, b) => a.from - b.from)) {
    const { to = fault.from } = fault
    if (fault.from <= due && to >= from) due = Math.max(due, to + KNOWN_MS)
  }
  return due
}

const isRedis = ({ target }: FaultNote) => target === 'redis'
const isService = ({ target }: FaultNote) => target === 'service'
/** Parts on which a device's session and its end do not depend. */
const APART = ['clickhouse', 'database', 's3', 'downloads', 'api-']
const isOnTheWay = ({ target }: FaultNote) => !APART.some((name) => target.startsWith(name))

function admitted({ name, how, calls }: Revocation, since: number): readonly Violation[] {
  return calls
    .filter(({ from, status }) => from > since && status < 300)
    .map(({ node, from, status }) =>
      violation(name, `${how} was answered, and ${node} answered a call of ${from} with ${status}`),
    )
}

function listening(
  { name, how, socket }: Revocation,
  faults: readonly FaultNote[],
  revokedAt: number,
): readonly Violation[] {
  if (socket === undefined) return []
  const { node, closedAt = Number.POSITIVE_INFINITY } = socket
  // A link that is slow or frozen, or a node that stands still, delays the news.
  const concerns = (fault: FaultNote) => isRedis(fault) || isOn(fault, node)
  if (closedAt <= dueAt(revokedAt, faults, concerns)) return []
  const text = `${how} was answered at ${revokedAt}, and its socket at ${node} ended at ${closedAt}`
  return [{ ...violation(name, text), ...(closedAt === Number.POSITIVE_INFINITY ? { isAbsence: true } : {}) }]
}

/** The only process of the embedded profile, its link, or a node and what is named after it. */
function isOn({ target }: FaultNote, node: string): boolean {
  return ['service', 'api-link'].includes(target) || node.startsWith(target) || target.startsWith(node)
}

function connected(
  { name, how, sessions = [] }: Revocation,
  faults: readonly FaultNote[],
  revokedAt: number,
): readonly Violation[] {
  return sessions
    .filter(({ from, to = Number.POSITIVE_INFINITY }) => {
      return to > dueAt(Math.max(from, revokedAt), faults, isOnTheWay)
    })
    .map(({ from, to }) =>
      violation(name, `${how} was answered at ${revokedAt}, and its session of ${from} lasted until ${to}`),
    )
}

function spoken(
  { name, how, stored = [] }: Revocation,
  messages: readonly Message[],
  since: number,
): readonly Violation[] {
  const there = new Set(stored)
  return messages
    .filter(({ series, n, sentAt }) => series === 'plain' && there.has(n) && (sentAt[0] ?? 0) > since)
    .map(({ n, sentAt }) =>
      violation(name, `${how} was answered, and message ${n} of ${sentAt[0]} is stored`),
    )
}

const violation = (device: string, text: string): Violation => ({ check: 'revocations', device, text })
