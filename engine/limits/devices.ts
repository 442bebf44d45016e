// Devices: what one device's record and vitals may hold, its commands, and the file of device types.
import { strict as assert } from 'node:assert'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { KIB, MIB } from './sizes.ts'

export const DEVICE_LIMITS = {
  // --- devices
  /** Connections of a device that are remembered to recognise a repeated message. As many as EMQX lets a device make within
   *  a minute before it bans it, and one more. */
  originsPerDeviceMax: 16,
  /** A connection is old this long after its last message, by the broker's clock. Only a few old ones are kept. */
  originFreshMs: 120_000,
  oldOriginsPerDeviceMax: 4,
  /** Runs of messages sent again that are remembered of a connection. */
  runsPerOriginMax: 4,
  /** A device flaps when this many of its connects are remembered. */
  flappingConnectsMin: 5,
  /** Each connect is forgotten this long after the one before it. */
  connectCountedMs: 60_000,
  /** More connects are not counted, so flapping ends soon after the last one. */
  connectsCountedMax: 10,
  /** Named faults that a record holds. A further one makes no entry, but the device is in `error` all the same. */
  deviceFaultsMax: 64,
  deadLettersMax: 10_000,
  deadLettersPerDeviceMax: 1_000,
  deadLetterPayloadBytesMax: 4 * KIB,
  /** More dead letters of a device within a second are counted and not kept. */
  deadLettersPerDevicePerSecMax: 10,
  /** How often a device is told on `error` of messages that could not be used. */
  errorToldEveryMs: 1_000,
  /** Devices that are told so within one second. */
  errorsToldMax: 10_000,
  /** Devices whose latest error waits until they listen, and how long it waits. */
  errorsKeptMax: 1_000,
  errorKeptMs: 600_000,
  /** Replayed letters that a device's record remembers. */
  replaysKeptMax: 256,
  /** Letters that are replayed together, before they are removed. */
  replaysAtOnceMax: 64,
  /** How often a device is given a new token, and how many devices at most within that time. */
  tokenEveryMs: 10_000,
  tokensAtOnceMax: 20_000,
  /** A device is told that its credentials end when a tenth of their time is left, but not earlier than this. */
  tokenWarnMsMax: 604_800_000,
  /** How often a process behind EMQX looks for sessions whose token ends soon. */
  tokenWarnEveryMs: 1_000,

  // --- devices that are purged
  purgesMax: 10_000,
  /** Purges that take their steps together. */
  purgesAtOnceMax: 500,
  purgeEveryMs: 1_000,
  /** How long a caller waits for the end of a purge. */
  purgeWaitMs: 5_000,
  /** How long a round waits for rows of the history to be stored, and how often it looks. */
  purgeOutboxMs: 5_000,
  purgeLookMs: 10,

  // --- commands of one device
  commandsOpenMax: 1_000,
  commandsOpenBytesMax: 4 * MIB,
  /** Finished commands that stay in the record. */
  commandsKeptMax: 16,
  /** The newest commands of the history that a list of one device's has. */
  commandsListedMax: 10_000,
  /** Expired commands that stay in the record while a late result still counts. */
  commandsLateMax: 128,
  commandLateMs: 86_400_000,
  /** How long a repeated idempotency key gets the first answer. */
  idempotencyKeyMs: 86_400_000,
  commandAttemptsMax: 5,
  /** A command without its PUBACK is sent again after this time. */
  commandRetryMs: 10_000,
  /** Commands sent and still without a PUBACK. Critical ones are counted separately. */
  commandsInFlightMax: 8,
  commandResultBytesMax: 64 * KIB,
  commandConflictsMax: 8,
  commandTextCharsMax: 1_024,
  broadcastSkippedMax: 1_000,
  broadcastPerSecDefault: 2_000,
  /** The newest broadcasts are kept. */
  broadcastsKeptMax: 256,
  /** Callers that wait for a command to end. */
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
