// Limits for devices: their records and vitals, their commands, and the file of device types.
import { strict as assert } from 'node:assert'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { KIB, MIB } from './sizes.ts'

export const DEVICE_LIMITS = {
  // --- devices
  /** Connections remembered per device, to recognise repeated messages: as many as EMQX lets a device make in a minute
   *  before it bans it, and one more. */
  originsPerDeviceMax: 16,
  /** A connection is old this long after its last message, by the broker's clock. Fewer old ones are remembered. */
  originFreshMs: 120_000,
  oldOriginsPerDeviceMax: 4,
  /** Runs of retransmitted messages remembered per connection. */
  runsPerOriginMax: 4,
  /** A device counts as flapping when this many of its connects are remembered. */
  flappingConnectsMin: 5,
  /** Each connect is forgotten this long after the one before it. */
  connectCountedMs: 60_000,
  /** Further connects are not counted, so that flapping ends soon after the last one. */
  connectsCountedMax: 10,
  /** Named faults in a record. A further fault is not entered, but still puts the device in `error`. */
  deviceFaultsMax: 64,
  deadLettersMax: 10_000,
  deadLettersPerDeviceMax: 1_000,
  deadLetterPayloadBytesMax: 4 * KIB,
  /** Further dead letters of the same device and second are counted but not kept. */
  deadLettersPerDevicePerSecMax: 10,
  /** How often a device is told on `error` about messages that could not be used. */
  errorToldEveryMs: 1_000,
  /** Devices told within one such interval. */
  errorsToldMax: 10_000,
  /** Devices whose latest error is kept until they listen, and how long it is kept. */
  errorsKeptMax: 1_000,
  errorKeptMs: 600_000,
  /** Replayed dead letters that a device's record remembers. */
  replaysKeptMax: 256,
  /** Dead letters replayed together, and then removed. */
  replaysAtOnceMax: 64,
  /** How often one device can get a new token, and how many devices can within that time. */
  tokenEveryMs: 10_000,
  tokensAtOnceMax: 20_000,
  /** A device is warned that its credentials expire when a tenth of their lifetime is left, but not earlier than this. */
  tokenWarnMsMax: 604_800_000,
  /** How often a process behind EMQX looks for sessions whose token ends soon. */
  tokenWarnEveryMs: 1_000,

  // --- devices that are purged
  purgesMax: 10_000,
  /** Purges that advance together. */
  purgesAtOnceMax: 500,
  purgeEveryMs: 1_000,
  /** How long a caller waits for the end of a purge. */
  purgeWaitMs: 5_000,
  /** How long a round waits for history rows to be stored, and how often it checks. */
  purgeOutboxMs: 5_000,
  purgeLookMs: 10,

  // --- commands of one device
  commandsOpenMax: 1_000,
  commandsOpenBytesMax: 4 * MIB,
  /** Finished commands kept in the record. */
  commandsKeptMax: 16,
  /** Commands from the history in the list of one device's commands, newest first. */
  commandsListedMax: 10_000,
  /** Expired commands kept in the record while a late result still counts. */
  commandsLateMax: 128,
  commandLateMs: 86_400_000,
  /** How long a repeated idempotency key gets the original answer. */
  idempotencyKeyMs: 86_400_000,
  commandAttemptsMax: 5,
  /** When a command without a PUBACK is sent again. */
  commandRetryMs: 10_000,
  /** Commands sent but without a PUBACK. Critical ones are counted separately. */
  commandsInFlightMax: 8,
  commandResultBytesMax: 64 * KIB,
  commandConflictsMax: 8,
  commandTextCharsMax: 1_024,
  broadcastSkippedMax: 1_000,
  broadcastPerSecDefault: 2_000,
  /** How long after its time limit a finished command is still counted for its broadcast: until the last member's has
   *  ended and the result is saved. */
  broadcastCountMs: 300_000,
  /** Older broadcasts are removed. */
  broadcastsKeptMax: 256,
  /** Callers waiting for a command to end. */
  commandWaitsMax: 10_000,

  // --- device types
  deviceTypeBytesMax: 1 * MIB,
  deviceTypesMax: 256,
  deviceTypeEntriesMax: 1_000,
  deviceTypeProblemsMax: 20,

  // --- JSON from a caller
  bodyDepthMax: 32,
  validationErrorsMax: 20,
} as const

const LIMITS = { ...BODY_LIMITS, ...DEVICE_LIMITS }
assert(LIMITS.commandDataBytesMax <= LIMITS.commandsOpenBytesMax, 'any one command fits the queue')
assert(LIMITS.flappingConnectsMin < LIMITS.connectsCountedMax, 'a device can flap')
