// The table of the whole fleet: how it is kept up, and for how long.
import { strict as assert } from 'node:assert'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { SHARD_LIMITS } from './shards.ts'

export const FLEET_LIMITS = {
  /** Interval at which a shard looks when its devices were last heard. */
  fleetSampleEveryMs: 5_000,
  /** A shard notes what changes for this long after a question about it. */
  fleetWatchedMs: 60_000,
  /** Rounds of changes that a shard remembers. */
  fleetRoundsMax: 256,
  /** Interval at which a node asks all shards while somebody watches. */
  fleetPullEveryMs: 250,
  /** An answer may be as old as this. */
  fleetAgeMsMax: 1_000,
  /** Latest moves between groups, types and tags that a node remembers. */
  fleetMovesMax: 50_000,
  /** Interval at which the leader counts the fleet. */
  censusEveryMs: 60_000,
  /** Groups that are counted apart. */
  censusGroupsMax: 2_000,
  /** Devices that are counted in one go. */
  censusDevicesAtOnce: 10_000,
  /** Interval at which the leader brings the table of devices in ClickHouse up to date. */
  devicesCopyEveryMs: 5_000,
  /** Interval at which it writes the whole table again. */
  devicesCopyAllEveryMs: 3_600_000,
  /** Rows of that table in one insert. */
  devicesCopiedAtOnce: 20_000,
} as const

const LIMITS = FLEET_LIMITS
assert(BODY_LIMITS.fleetDevicesMax <= SHARD_LIMITS.devicesMax, 'more devices than fit are never shown')
assert(
  LIMITS.fleetRoundsMax * LIMITS.fleetPullEveryMs >= LIMITS.fleetWatchedMs,
  'what is remembered reaches as far back as somebody watched',
)
