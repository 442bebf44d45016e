// What listeners of `/ws` were told in a run, and what revoked users and devices could still do.

/** Milliseconds since the run began. */
type Instant = number

export const WATCHED = ['telemetry', 'shadows', 'commands'] as const
export type WatchedChannel = (typeof WATCHED)[number]

/** A connection of a listener to `/ws`. */
export interface LiveConnection {
  readonly watcher: string
  readonly node: string
  /** The groups that the user may see; none means all. */
  readonly groups: readonly string[]
  /** Channels that the user's role may not listen to. */
  readonly forbidden: readonly WatchedChannel[]
  readonly openedAt: Instant
  /** Absent as long as it is open. */
  closedAt?: Instant
  readonly frames: LiveFrame[]
}

/** One frame. The subscription to a channel has the channel's name. */
export interface LiveFrame {
  readonly kind: 'subscribed' | 'refused' | 'snapshot' | 'event' | 'resync'
  readonly channel: WatchedChannel
  readonly at: Instant
  /** Set for events, like the server's own time `ts`, in milliseconds of its clock. */
  readonly seq?: number
  readonly ts?: number
  readonly shown: readonly Statement[]
}

/** What a frame says of a device. */
export interface Statement {
  readonly device: string
  /** The reports that telemetry shows, without and with a time of their own. */
  readonly plain?: number
  readonly timed?: number
  /** Version of the shadow. A snapshot has the last values, an event the section and its value. */
  readonly version?: number
  readonly desired?: string
  readonly reported?: number
  readonly section?: 'desired' | 'reported'
  readonly value?: string | number | undefined
}

/** A user or a device whose tokens were revoked, and what they tried with them. */
export interface Revocation {
  readonly kind: 'user' | 'device'
  readonly name: string
  readonly how: string
  /** When the revocation was answered. Absent if it never was. */
  revokedAt?: Instant
  /** A user's calls, before and after. */
  readonly calls: readonly TriedCall[]
  /** A user's connection to `/ws`. */
  readonly socket?: { readonly node: string; closedAt?: Instant }
  /** A device's sessions. */
  readonly sessions?: readonly Session[]
  /** A device's messages that are stored at the end of the run. */
  stored?: readonly number[]
}

/** A session of a device with its broker, from the answer to its SUBSCRIBE on. */
export interface Session {
  readonly from: Instant
  /** Absent as long as it lasts. */
  to?: Instant
}

export interface TriedCall {
  readonly node: string
  readonly from: Instant
  readonly status: number
}
