// Counts of what happened at the sockets, for /metrics.

export interface Tally {
  /** Frames handed to sockets. */
  sent: number
  /** Events that a slow client got as part of a later one of the same device. */
  conflated: number
  /** Events left out because nothing more could be held. */
  dropped: number
  /** Events that a throttle folded into a later one, as its client asked. */
  throttled: number
  /** Sockets refused or ended by this side, by close code. */
  readonly closed: Record<number, number>
  /** Requests refused before they became sockets. */
  refused: number
}

export function openTally(): Tally {
  return { sent: 0, conflated: 0, dropped: 0, throttled: 0, closed: {}, refused: 0 }
}
