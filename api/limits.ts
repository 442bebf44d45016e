// The bounds of the API, each with its unit in its name (R9). The engine's bounds are in `engine/limits.ts`, and those
// that a schema states are in `schemas/body-limits.ts`.
import { strict as assert } from 'node:assert'
import { LIMITS } from '../engine/limits.ts'

const KIB = 1024
const MIB = 1024 * KIB

export const API_LIMITS = {
  // --- requests
  bodyBytesMax: 1 * MIB,
  /** A picture as Base64, and its position. */
  floorPlanBodyBytesMax: Math.ceil(LIMITS.floorPlanBytesMax / 3) * 4 + 4 * KIB,
  /** Time for a whole request to arrive. */
  requestTimeoutMs: 30_000,
  /** Time that requests under way get when the service stops. */
  drainTimeoutMs: 2_500,
  retryAfterSec: 2,
  /** A body larger than this gets only its first error explained. */
  explainBytesMax: 16 * KIB,
  auditFieldsMax: 50,
  keptAnswersRetrySec: 600,
  /** Interval between two attempts to reach a server at the start. */
  serverRetryMs: 1_000,

  // --- downloads of images
  /** Concurrent streams of one reader. */
  streamsPerReaderMax: 2,
  /** A node ends its downloads if it could not confirm their places for this long. It tries at the interval below. */
  downloadPlaceMs: 20_000,
  downloadPlaceEveryMs: 5_000,
  /** A reader that takes nothing for this long is cut. */
  downloadSilenceMs: 60_000,
  /** Interval at which streams report progress and check whether they were withdrawn. */
  downloadLookMs: 1_000,
  downloadPieceBytesMin: 32 * KIB,
  downloadPieceBytesMax: 512 * KIB,
  /** Total size of the large pieces of all readers, and the bytes a connection must have taken before it gets one. */
  downloadPiecesBytesMax: 24 * MIB,
  downloadTakenBytesMin: 1 * MIB,
  /** Bounds of the delay after which a device that was sent away is told to retry. */
  downloadRetrySecMin: 5,
  downloadRetrySecMax: 60,
  /** How long the address of an image in a bucket stays valid. */
  imageAddressSec: 900,

  connectionsMax: 10_000,
  /** Connections of one address, or of one IPv6 /64. */
  connectionsPerAddressMax: 2_000,
  /** How long one rendering of the metrics is reused for all requests. */
  metricsAgeMsMax: 1_000,

  // --- rates
  /** Probes of one address. */
  probesPerSecMax: 1_000,
  /** Callers whose rate is remembered. */
  rateKeysMax: 100_000,
  /** Interval at which nodes tell each other how much of a shared rate was used. */
  rateShareEveryMs: 50,
  /** Callers that nodes tell each other about at once. */
  rateSharesAtOnceMax: 500,
  /** Failed logins from one address for one e-mail. */
  loginsPerMinuteMax: 10,
  /** Failed logins from all addresses for one e-mail. */
  wrongPasswordsPerHourMax: 100,
  /** Pairs of account and network remembered after a successful login. */
  loginsKnownMax: 50_000,
  /** Passwords hashed for one address, on average and at once. */
  passwordsPerSecMax: 10,
  passwordsAtOnceMax: 40,

  /** Requests of devices with one provisioning key. */
  provisionsPerSecMax: 50,

  // --- work of one user, in units of a plain GET
  /** Unused work that a user can save up, in seconds of the user's rate. */
  workBurstSec: 5,
  /** Empty values of a filled series, or values of a page or a file, that cost as much as a plain GET. */
  valuesPerWork: 10_000,
  /** The same for values that are each computed from points and written separately. */
  measuredValuesPerWork: 2_000,
  /** Points read one by one, for aggregates that are not kept by the hour, at the cost of a plain GET. Each such
   *  aggregate in a query adds a third. */
  pointsPerWork: 25_000,
  /** A series whose points were not counted is assumed to have one point per this interval. */
  assumedPointMs: 10_000,
  /** Time range whose clock changes in a zone can be looked up for the cost of a plain GET. */
  zoneMsPerWork: 365 * 86_400_000,
  /** Devices in a query, a file or a snapshot that cost as much as a plain GET. */
  devicesPerWork: 20,
  /** Rows of a bulk registration, registered or only checked, that cost as much as a plain GET. Registering one row takes
   *  about the work of a plain GET. At the usual rate, a caller who sends one file after another is never refused, because
   *  registering takes longer than the budget needs to refill. */
  rowsPerWork: 20,
  rowsCheckedPerWork: 200,
  /** Rows checked before other requests get a turn. */
  rowsCheckedAtOnce: 100,

  /** Files of the dashboard, held in memory, before compression. */
  dashboardBytesMax: 2 * MIB,
  /** The same for the documentation, most of which is Swagger UI. */
  docsBytesMax: 4 * MIB,

  // --- devices
  bulkBytesMax: 16 * MIB,
  bulkRowCharsMax: 64 * KIB,
  /** Bulk registrations at the same time. */
  bulksAtOnceMax: 2,
  /** Devices of one bulk registration that are registered at the same time. */
  bulkRegistrationsAtOnceMax: 64,
  /** Concurrent bulk edits, and devices that one of them changes at the same time. */
  bulkEditsAtOnceMax: 2,
  bulkEditedAtOnceMax: 64,
  /** Sub-devices of one gateway: each learns of the gateway's connections, and the gateway learns of each one's shadow. */
  subDevicesMax: 1_000,

  /** More than any patch of desired state needs: one that removes all keys of the largest state has half as many bytes again
   *  as that state. */
  desiredPatchBytesMax: 2 * LIMITS.shadowSideBytesMax,

  // --- the whole fleet
  /** Shortest interval between two computations of the same index. */
  fleetIndexAgeMs: 1_000,
  /** Queries whose index is kept. */
  fleetIndexesMax: 32,
  /** Devices in one frame of the channel `fleet`. */
  fleetFrameDevicesMax: 4_000,
  /** Age that an index read right after a subscription may have. Changes since then are sent again. */
  fleetLookBackMs: 3_000,
  fleetStatsEveryMs: 1_000,
  fleetSubscriptionsPerSocketMax: 16,
  /** Filters of one user on the channel `fleet` that name no devices. Each is applied to all devices every second, once for
   *  all subscriptions that have it. */
  fleetFiltersPerUserMax: 64,
  /** Metrics whose values the channel `fleet` sends to all subscriptions of this node. */
  fleetMetricsMax: 32,
  /** Columns that changed within this time are sent with every change of their row, so that deltas arriving in a different
   *  order still lead to the same row. */
  fleetOrderMs: 60_000,

  // --- telemetry
  /** Times that a query may name. ClickHouse's columns of seconds hold no earlier times and few later ones. */
  spanMin: 0,
  spanMax: Date.UTC(2100, 0, 1),
  /** Buckets in one series. */
  bucketsMax: 11_000,
  seriesMax: 10,
  /** Buckets in all series of an answer. */
  bucketsPerAnswerMax: 110_000,
  /** The same where buckets without points are filled in: all of them are written, whatever was measured. */
  filledBucketsPerAnswerMax: 22_000,
  /** Metrics in one file of points. */
  fileMetricsMax: 100,

  /** Concurrent file downloads of one caller. */
  filesPerCallerMax: 2,

  // --- logins and tokens
  hashesAtOnceMax: 2,
  hashesWaitingMax: 64,
  accessTokenSec: 3_600,
  /** A longer token is refused without being parsed. */
  tokenCharsMax: 4_096,
  verifiedTokensMax: 10_000,
  /** Signatures of devices that all reconnect at once, as after a network outage, need not be verified again. */
  verifiedDeviceTokensMax: 100_000,
  refreshAbsoluteMs: 30 * 86_400_000,
  refreshIdleMs: 7 * 86_400_000,
  /** Shortest interval between two updates of a refresh token's time of last use. */
  refreshTouchMs: 60_000,
  /** How long a renewal may be repeated with the refresh token that it replaced. */
  refreshLeewayMs: 10_000,
  /** Largest difference between the clocks of two servers. */
  clockLeewayMs: 30_000,
  /** Shortest interval between two updates of an API key's time of last use. */
  apiKeyTouchMs: 60_000,
  /** Former signing keys whose tokens are still accepted. */
  previousKeysMax: 8,

  // --- /ws
  socketsMax: 1_000,
  subscriptionsPerSocketMax: 100,
  frameInBytesMax: 32 * KIB,
  socketOutBytesMax: 64 * KIB,
  authTimeoutMs: 10_000,
  tokenWarningMs: 60_000,
  /** Bytes in flight: sent, but not taken by the client's kernel. A client with more counts as slow. */
  socketInFlightBytesMax: 1 * MIB,
  /** A slow client that takes nothing for this long is disconnected. */
  socketFrozenMs: 15_000,
  socketPingEverySec: 30,
  /** A socket that stays silent for this long after a ping is closed. */
  socketPongSecMax: 16,
  /** Sockets of one user. */
  socketsPerUserMax: 250,
  /** Subscriptions of one user that name no device. Each event is compared with all of them. */
  broadSubscriptionsPerUserMax: 2_500,
  /** Names of metrics in all subscriptions of one user. */
  metricNamesPerUserMax: 1_000,
  /** Sockets that have yet to log in. If there are more, the oldest one is closed. */
  loginsWaitingMax: 250,
  loginsWaitingPerAddressMax: 100,
  /** Frames per second of one socket, on average. A burst may be as large as `framesWaitingMax`. */
  framesPerSecMax: 100,
  /** Time that a closing socket gets to take its last frame. */
  socketLingerMs: 2_000,
  /** Frames of one socket that were read but not yet processed. */
  framesWaitingMax: 256,
  badFramesMax: 20,
  /** Events held back for slow or throttled subscriptions of one socket. */
  heldBytesPerSocketMax: 16 * MIB,
  /** Events held back for all sockets together. */
  heldBytesMax: 128 * MIB,
  /** Log lines or timeline entries held back for a slow subscription. The oldest are dropped when there are more. */
  heldEntriesMax: 1_000,
  snapshotDevicesMax: 1_000,
  /** Newest entries of a device's log or timeline in a snapshot. */
  snapshotEntriesMax: 100,
  snapshotBytesMax: 2 * MIB,
  /** A snapshot may already show changes that are still being saved. Events it contains are left out for this long. */
  snapshotGuardMs: 5_000,
} as const

assert(
  API_LIMITS.seriesMax * API_LIMITS.bucketsMax <= API_LIMITS.bucketsPerAnswerMax,
  'all series may be full',
)
assert(API_LIMITS.refreshTouchMs < API_LIMITS.refreshIdleMs, 'a refresh token in use never counts as idle')
assert(
  API_LIMITS.socketOutBytesMax <= API_LIMITS.socketInFlightBytesMax,
  'the tunnel holds what a socket may',
)
assert(
  API_LIMITS.snapshotBytesMax < API_LIMITS.heldBytesPerSocketMax,
  'a socket can hold a snapshot while it waits',
)
assert(
  API_LIMITS.requestTimeoutMs + 2 * API_LIMITS.clockLeewayMs < LIMITS.answerBegunMs,
  'a request that is still arriving at one node does not count as dead at another',
)
assert(LIMITS.repairStopTimeoutMs <= API_LIMITS.drainTimeoutMs, 'a repair ends while requests do')
assert(
  API_LIMITS.socketLingerMs +
    API_LIMITS.drainTimeoutMs +
    LIMITS.ingestStopTimeoutMs +
    LIMITS.shardStopTimeoutMs +
    LIMITS.chdbStopTimeoutMs <
    10_000,
  'a stop takes less than ten seconds, whatever hangs',
)
