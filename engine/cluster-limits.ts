// The bounds of what only several processes need: the servers between them, and each other. They are read as part of
// `LIMITS`.
import { strict as assert } from 'node:assert'

const MIB = 1024 * 1024

export const CLUSTER_LIMITS = {
  // --- NATS
  natsReconnectMs: 250,
  natsPingEveryMs: 2_000,
  natsTimeoutMs: 5_000,
  natsStartTimeoutMs: 15_000,
  /** A publish may be repeated for so long without being stored twice; later the stream is looked through for it. */
  natsDuplicateWindowMs: 600_000,
  /** What a reader has fetched and not handed out; and messages on their way to it, each of them an append. */
  natsReaderBytesMax: 2 * MIB,
  natsReaderMessagesMax: 16,
  /** A reader's consumer that says nothing for twice as long is made again. */
  natsHeartbeatMs: 1_000,
  /** Readers know how far the log goes as of so long ago, and trust that for so long. */
  logLookEveryMs: 250,
  logLookTrustedMs: 1_000,
  /** Appends read past a partition without entries before its position is moved on all the same. */
  logMarkEvery: 4_096,
  logTrimEveryMs: 10_000,

  // --- ownership of partitions
  ownershipRenewMs: 500,
  /** A node that did not renew for so long may have lost what it owns, and does nothing for it. */
  ownershipLeaseMs: 2_500,
  /** A node that was not seen to renew for so long loses what it owns. */
  ownershipSilenceMs: 3_000,
  ownershipTimeoutMs: 1_000,
  /** For so long work looks for the owner of its partition: a node that takes over from a dead one needs less. */
  ownerSearchMs: 6_000,
  ownerSearchesMax: 1_000,
  /** For so long a record that another process has saved is waited for. */
  storeKnownMs: 1_000,
  /** For so long another node is waited for. */
  nodeAnswerMs: 12_000,
  /** How often the ingress says up to when it has heard everything. */
  heardEveryMs: 1_000,

  // --- nodes that talk to each other
  /** A question, or news. */
  meshMessageBytesMax: 8 * MIB,
  /** An answer comes in parts. The longest tells of the commands of a broadcast to all devices. */
  meshAnswerBytesMax: 64 * MIB,
  meshPartBytes: 1 * MIB,
  /** Questions that one node is at; waiting for a command to end is one. */
  meshQuestionsMax: 16_384,
  meshQuestionsBytesMax: 64 * MIB,
  /** News not yet taken by the server: beyond, they are dropped. */
  meshNewsWaitingBytesMax: 32 * MIB,
  /** What questions under way get at a stop. */
  meshStopTimeoutMs: 500,
  /** What was read of lanes is acknowledged within this, or read again by the next node. */
  lanesStopTimeoutMs: 1_000,
  /** Events of the feed that go to a node together. */
  feedNewsBytesMax: 1 * MIB,
  /** A node that wants to hear of more devices than these hears of all. */
  feedDevicesWantedMax: 10_000,
  /** What a node wants to hear is told again, and forgotten when it is not. */
  feedWantsEveryMs: 2_000,
  feedWantsForgottenMs: 7_000,

  // --- Redis
  storeTimeoutMs: 5_000,
  /** Asked at least so often what others wrote. */
  storePollMs: 1_000,
  /** Without an answer for so long, what others wrote may be missing. */
  storeStaleMaxMs: 3_000,
  /** What was written last; a process that was away for longer loads everything again. */
  storeMessagesKept: 2_000,
  /** A process that does not ask for the outbox for so long leaves it to another one. */
  outboxReaderMs: 10_000,
  /** Nodes tell each other what was taken of limits that they share so long after it, and of so many callers at once. */
  rateShareEveryMs: 50,
  rateSharesAtOnceMax: 500,

  // --- blobs
  blobsListedMax: 1_000,
  /** What S3 takes at once, and what one put holds in memory twice. S3's own bounds are 5 MiB and 10 000 parts. */
  blobPartBytes: 8 * MIB,
  blobTimeoutMs: 30_000,
  blobAttemptsMax: 3,
  blobRetryMs: 200,
} as const

assert(
  CLUSTER_LIMITS.logLookEveryMs * 2 < CLUSTER_LIMITS.logLookTrustedMs,
  'a late look does not make a reader doubt',
)
assert(CLUSTER_LIMITS.natsTimeoutMs * 10 < CLUSTER_LIMITS.natsDuplicateWindowMs, 'a publish can be repeated')
assert(
  CLUSTER_LIMITS.ownershipRenewMs + CLUSTER_LIMITS.ownershipTimeoutMs < CLUSTER_LIMITS.ownershipLeaseMs,
  'a renewal may be lost, and the next one is in time',
)
assert(
  CLUSTER_LIMITS.ownershipLeaseMs < CLUSTER_LIMITS.ownershipSilenceMs,
  'who owned it has stopped before another takes it',
)
assert(
  CLUSTER_LIMITS.ownershipSilenceMs + 2 * CLUSTER_LIMITS.ownershipRenewMs <= 5_000,
  'what a dead node owned is taken in time',
)
assert(
  CLUSTER_LIMITS.meshMessageBytesMax * 4 <= CLUSTER_LIMITS.meshNewsWaitingBytesMax &&
    CLUSTER_LIMITS.meshMessageBytesMax * 4 <= CLUSTER_LIMITS.meshQuestionsBytesMax,
  'one large message does not keep the others out',
)
assert(
  CLUSTER_LIMITS.feedDevicesWantedMax * 3 * 80 < CLUSTER_LIMITS.meshMessageBytesMax,
  'whatever a node wants to hear fits one message',
)
assert(
  CLUSTER_LIMITS.feedWantsEveryMs * 3 < CLUSTER_LIMITS.feedWantsForgottenMs,
  'two lost repetitions are not the end of a wish',
)
assert(
  CLUSTER_LIMITS.storePollMs < CLUSTER_LIMITS.storeStaleMaxMs,
  'a quiet Redis does not look like a dead one',
)
