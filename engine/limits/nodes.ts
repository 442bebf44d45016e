// Limits for the nodes of a cluster: ownership of partitions, messages between nodes, and the shared store.
import { strict as assert } from 'node:assert'
import { MIB } from './sizes.ts'

export const NODE_LIMITS = {
  // --- ownership of partitions
  ownershipRenewMs: 500,
  /** A node that could not renew its lease for this long may have lost its partitions, and stops working on them. */
  ownershipLeaseMs: 2_500,
  /** A node whose lease no other node saw renewed for this long loses its partitions. */
  ownershipSilenceMs: 3_000,
  ownershipTimeoutMs: 1_000,
  /** A clock of another node that is further ahead than this is not followed. */
  clockLeadMsMax: 60_000,
  /** A node that cannot save or insert for this long gives its partitions to nodes that can. */
  ownershipUnfitMs: 10_000,
  /** How long a request looks for the owner of its partition. Takeover from a dead node is faster than this. */
  ownerSearchMs: 6_000,
  ownerSearchesMax: 1_000,
  /** A question to a node is given up once that node has owned nothing for this long. A node that shuts down in order has
   *  answered by then. */
  nodeGoneMs: 500,
  /** How long to wait until a record that another process saved is visible here. */
  storeKnownMs: 1_000,
  /** How long to wait for the answer of another node. */
  nodeAnswerMs: 12_000,
  /** Interval at which the ingress publishes its watermark: the time up to which it has handed over everything. */
  watermarkEveryMs: 1_000,

  // --- nodes that talk to each other
  /** Largest question or message. */
  meshMessageBytesMax: 8 * MIB,
  /** Largest answer; answers are sent in parts. The longest lists the commands of a broadcast to all devices. */
  meshAnswerBytesMax: 64 * MIB,
  meshPartBytes: 1 * MIB,
  /** Questions that one node is answering at once, such as waiting for a command to end. */
  meshQuestionsMax: 16_384,
  meshQuestionsBytesMax: 64 * MIB,
  /** Messages not yet taken by the NATS server. Further ones are dropped. */
  meshWaitingBytesMax: 32 * MIB,
  /** How long a shutdown waits for questions under way. */
  meshStopTimeoutMs: 500,
  /** How long a shutdown waits for the lanes to acknowledge what they read. The next node reads the rest again. */
  lanesStopTimeoutMs: 1_000,
  /** Size of feed events sent to another node in one message. */
  feedNewsBytesMax: 1 * MIB,
  /** A node that wants events of more devices than this is sent those of all devices. */
  feedDevicesWantedMax: 10_000,
  /** Interval at which a node repeats its wants. */
  feedWantsEveryMs: 2_000,
  /** The wants of a node are forgotten if it does not repeat them within this time. */
  feedWantsForgottenMs: 7_000,

  // --- Redis
  storeTimeoutMs: 5_000,
  /** Longest interval between two polls for writes of other processes. */
  storePollMs: 1_000,
  /** After this long without an answer from Redis, a process checks for new writes before it answers from memory, because
   *  it may have been paused. Longer than the polling interval, because Redis or a busy process may be late. */
  storeHeardMsMax: 1_500,
  /** After this long without an answer, writes of other processes may be missing here. */
  storeStaleMsMax: 3_000,
  /** Latest writes kept for other processes. A process that missed more than that reloads everything. */
  storeMessagesKept: 2_000,
  /** A process that has not asked for the outbox for this long loses it to another process. */
  outboxReaderMs: 10_000,

  // --- blobs
  blobsListedMax: 1_000,
  /** A part of an upload, which is held in memory twice. S3 allows at most 10 000 parts of at least 5 MiB each. */
  blobPartBytes: 8 * MIB,
  blobTimeoutMs: 30_000,
  /** How long a signature is reused. S3 accepts one for a quarter of an hour, by its own clock. */
  blobSignatureMs: 60_000,
  blobSignaturesMax: 1_000,
} as const

const LIMITS = NODE_LIMITS
assert(
  LIMITS.ownershipRenewMs + LIMITS.ownershipTimeoutMs < LIMITS.ownershipLeaseMs,
  'a renewal may be lost, and the next one is in time',
)
assert(LIMITS.ownershipLeaseMs < LIMITS.ownershipSilenceMs, 'an owner has stopped before another one begins')
assert(
  LIMITS.ownershipSilenceMs + 2 * LIMITS.ownershipRenewMs <= 5_000,
  'the partitions of a dead node are taken in time',
)
assert(
  LIMITS.ownershipSilenceMs + 2 * LIMITS.ownershipRenewMs + LIMITS.nodeGoneMs < LIMITS.ownerSearchMs,
  'a question that a node died over finds the next owner in time',
)
assert(
  LIMITS.meshMessageBytesMax * 4 <= LIMITS.meshWaitingBytesMax &&
    LIMITS.meshMessageBytesMax * 4 <= LIMITS.meshQuestionsBytesMax,
  'one large message does not keep the others out',
)
assert(
  LIMITS.feedDevicesWantedMax * 3 * 80 < LIMITS.meshMessageBytesMax,
  'everything that a node wants to hear fits one message',
)
assert(LIMITS.feedWantsEveryMs * 3 < LIMITS.feedWantsForgottenMs, 'two repetitions may be lost')
assert(LIMITS.storePollMs < LIMITS.storeHeardMsMax, 'a quiet Redis is not asked once more for every request')
assert(LIMITS.storeHeardMsMax < LIMITS.storeStaleMsMax, 'a process catches up before it counts as behind')
