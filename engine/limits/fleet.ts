// Limits for the table of the whole fleet: how often it is updated, and how long it is kept.
import { strict as assert } from 'node:assert'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { SHARD_LIMITS } from './shards.ts'

export const FLEET_LIMITS = {
  /** Interval at which a shard checks when its devices were last heard. */
  fleetSampleEveryMs: 5_000,
  /** How long a shard keeps recording changes after the last query for them. */
  fleetWatchedMs: 60_000,
  /** Rounds of changes that a shard remembers. */
  fleetRoundsMax: 256,
  /** Interval at which a node queries all shards while somebody watches. */
  fleetPullEveryMs: 250,
  /** Oldest table that may be returned. */
  fleetAgeMsMax: 1_000,
  /** Latest changes of group, type or tags that a node remembers. */
  fleetMovesMax: 50_000,
  /** Interval at which the leader counts the fleet. */
  censusEveryMs: 60_000,
  /** Groups with counts of their own. */
  censusGroupsMax: 2_000,
  /** Devices counted before other work has its turn. */
  censusDevicesAtOnce: 10_000,
  /** Interval at which the leader updates the table `devices` in ClickHouse. */
  devicesCopyEveryMs: 5_000,
  /** Interval at which the leader writes that whole table again. */
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
