// What the store keeps for the API: users, their tokens and keys, and answers that a repeated request gets again.
import { strict as assert } from 'node:assert'
import { DEVICE_LIMITS } from './devices.ts'
import { MIB } from './sizes.ts'

export const USER_LIMITS = {
  usersMax: 50_000,
  apiKeysMax: 1_000,
  provisioningKeysMax: 1_000,
  /** Places of one provisioning key whose devices are not registered yet. */
  provisioningClaimsMax: 1_000,
  /** A registered device's claim is kept this long: another node may not know of the device yet. */
  provisioningClaimKeptMs: 10_000,
  /** Refresh tokens kept for one user. The one unused for longest is dropped first. */
  grantsPerUserMax: 1_000,
  /** Replaced refresh tokens kept for one login. Using one of them again is recognised as theft. */
  replacedGrantsMax: 100,
  /** Views that one user has saved, and all together. */
  viewsPerUserMax: 200,
  viewsMax: 20_000,
  /** Users whose preferences are kept. */
  preferencesMax: 10_000,
  /** How long a ticket for `/ws` is good. */
  ticketMs: 30_000,
  /** How long the address of a one-time login is good. */
  loginTicketMs: 900_000,
  /** Tickets of one user that were not used yet. */
  ticketsPerUserMax: 32,
  ticketsMax: 4_096,
  /** Kept answers to requests with an idempotency key. While they are full, such a key is refused. */
  keptAnswersMax: 100_000,
  keptAnswersBytesMax: 256 * MIB,
  /** Kept answers of one caller. Their own oldest makes room for the next, if it is older than `keptAnswerMsMin`. */
  keptAnswersPerOwnerMax: 5_000,
  keptAnswersPerOwnerBytesMax: 16 * MIB,
  keptAnswerMsMin: 600_000,
  /** A node that began an answer and is silent for this long has died, and the request may be sent again. */
  answerBegunMs: 120_000,
} as const

const LIMITS = { ...DEVICE_LIMITS, ...USER_LIMITS }
assert(
  LIMITS.keptAnswersPerOwnerMax * 20 <= LIMITS.keptAnswersMax,
  'a few callers cannot use up the room of all',
)
assert(LIMITS.keptAnswersPerOwnerBytesMax * 16 <= LIMITS.keptAnswersBytesMax, 'nor can they by size')
assert(LIMITS.keptAnswerMsMin < LIMITS.idempotencyKeyMs, 'an answer that makes room is not over yet')
