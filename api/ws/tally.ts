// Counters of the sockets, for /metrics.

export interface Tally {
  /** Frames handed to sockets. */
  sent: number
  /** Events that a slow client got merged into a later one of the same device. */
  conflated: number
  /** Events dropped because the limits for held events were reached. */
  dropped: number
  /** Events that a throttle merged into a later one, as the client requested. */
  throttled: number
  /** Sockets refused or closed by the service, by close code. */
  readonly closed: Record<number, number>
  /** Requests refused before they became WebSockets. */
  refused: number
}

export function openTally(): Tally {
  return { sent: 0, conflated: 0, dropped: 0, throttled: 0, closed: {}, refused: 0 }
}
