// Limits for what the store keeps for the API: users, their tokens and keys, and answers to repeated requests.
import { strict as assert } from 'node:assert'
import { DEVICE_LIMITS } from './devices.ts'
import { MIB } from './sizes.ts'

export const USER_LIMITS = {
  usersMax: 50_000,
  apiKeysMax: 1_000,
  provisioningKeysMax: 1_000,
  /** Places of one provisioning key that are claimed by devices not registered yet. */
  provisioningClaimsMax: 1_000,
  /** How long a claim is kept after its device is registered, because other nodes may not know the device yet. */
  provisioningClaimKeptMs: 10_000,
  /** Refresh tokens kept for one user. The one unused for longest is dropped first. */
  grantsPerUserMax: 1_000,
  /** Replaced refresh tokens kept for one login. If one is used again, it counts as stolen. */
  replacedGrantsMax: 100,
  /** Views saved by one user, and by all users together. */
  viewsPerUserMax: 200,
  viewsMax: 20_000,
  /** Users with saved preferences. */
  preferencesMax: 10_000,
  /** Lifetime of a ticket for `/ws`. */
  ticketMs: 30_000,
  /** Lifetime of a one-time login link. */
  loginTicketMs: 900_000,
  /** Unused tickets of one user. */
  ticketsPerUserMax: 32,
  ticketsMax: 4_096,
  /** Answers kept for requests with an idempotency key. At this limit, requests with a new key are refused. */
  keptAnswersMax: 100_000,
  keptAnswersBytesMax: 256 * MIB,
  /** Answers kept for one caller. At this limit the caller's oldest makes room if it is older than `keptAnswerMsMin`. */
  keptAnswersPerOwnerMax: 5_000,
  keptAnswersPerOwnerBytesMax: 16 * MIB,
  keptAnswerMsMin: 600_000,
  /** A node that has not finished an answer after this long counts as dead, and the request may be sent again. */
  answerBegunMs: 120_000,
} as const

const LIMITS = { ...DEVICE_LIMITS, ...USER_LIMITS }
assert(
  LIMITS.keptAnswersPerOwnerMax * 20 <= LIMITS.keptAnswersMax,
  'a few callers cannot use up the room of all',
)
assert(LIMITS.keptAnswersPerOwnerBytesMax * 16 <= LIMITS.keptAnswersBytesMax, 'nor can they by size')
assert(LIMITS.keptAnswerMsMin < LIMITS.idempotencyKeyMs, 'an answer that makes room is not over yet')
