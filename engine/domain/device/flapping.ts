// Whether a device reconnects again and again. Counted connects expire one per minute, so two numbers suffice. They
// depend only on times in the log, and a connect that is read again counts once (R6).
import { type Micros, Millis, toMillis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'

export interface Connects {
  readonly lastAt: Micros
  /** Time at which the last counted connect is forgotten. */
  readonly countedUntil: Millis
}

export function countConnect(before: Connects | undefined, at: Micros): Connects {
  if (before !== undefined && at <= before.lastAt) return before
  const now = toMillis(at)
  const until = Math.max(before?.countedUntil ?? now, now) + LIMITS.connectCountedMs
  const latest = now + LIMITS.connectsCountedMax * LIMITS.connectCountedMs
  return { lastAt: at, countedUntil: Millis(Math.min(until, latest)) }
}

/** Time at which the device stops flapping, in the past if it does not flap. */
export function flapsUntil({ countedUntil }: Connects): Millis {
  return Millis(countedUntil - (LIMITS.flappingConnectsMin - 1) * LIMITS.connectCountedMs)
}

export function isFlapping(connects: Connects | undefined, now: Millis): boolean {
  return connects !== undefined && now < flapsUntil(connects)
}
