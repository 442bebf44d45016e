// Nodes of a cluster: who owns which partition, what nodes say to each other, and the store that they share.
import { strict as assert } from 'node:assert'
import { MIB } from './sizes.ts'

export const NODE_LIMITS = {
  // --- ownership of partitions
  ownershipRenewMs: 500,
  /** A node that could not renew for this long may have lost its partitions, and stops working on them. */
  ownershipLeaseMs: 2_500,
  /** A node that nobody saw renew for this long loses its partitions. */
  ownershipSilenceMs: 3_000,
  ownershipTimeoutMs: 1_000,
  /** A node's clock that is ahead of another's by more is not followed. */
  clockLeadMsMax: 60_000,
  /** A node that cannot save or insert for this long gives its partitions to nodes that can. */
  ownershipUnfitMs: 10_000,
  /** How long work searches for the owner of its partition. Taking over from a dead node needs less. */
  ownerSearchMs: 6_000,
  ownerSearchesMax: 1_000,
  /** A question to a node that has owned nothing for this long is given up. One that stops in order has answered by then. */
  nodeGoneMs: 500,
  /** How long to wait for a record that another process has saved. */
  storeKnownMs: 1_000,
  /** How long to wait for another node. */
  nodeAnswerMs: 12_000,
  /** Interval at which the ingress tells its watermark: the time up to which it has handed over everything. */
  watermarkEveryMs: 1_000,

  // --- nodes that talk to each other
  /** A question, or a piece of news. */
  meshMessageBytesMax: 8 * MIB,
  /** An answer, which is sent in parts. The longest lists the commands of a broadcast to all devices. */
  meshAnswerBytesMax: 64 * MIB,
  meshPartBytes: 1 * MIB,
  /** Questions that one node is answering. Waiting for a command to end is one. */
  meshQuestionsMax: 16_384,
  meshQuestionsBytesMax: 64 * MIB,
  /** News that the server has not taken yet. More are dropped. */
  meshNewsWaitingBytesMax: 32 * MIB,
  /** How long questions under way get at a stop. */
  meshStopTimeoutMs: 500,
  /** How long lanes get at a stop to acknowledge what they read. The next node reads the rest again. */
  lanesStopTimeoutMs: 1_000,
  /** Events of the feed that are sent to a node together. */
  feedNewsBytesMax: 1 * MIB,
  /** A node that wants to hear of more devices than this is told of all. */
  feedDevicesWantedMax: 10_000,
  /** Interval at which a node repeats what it wants to hear. */
  feedWantsEveryMs: 2_000,
  /** What a node wants to hear is forgotten if it is not repeated within this time. */
  feedWantsForgottenMs: 7_000,

  // --- Redis
  storeTimeoutMs: 5_000,
  /** Longest time between two looks at what other processes wrote. */
  storePollMs: 1_000,
  /** After this long without an answer, a process asks what was written before it answers from memory: it may have stood
   *  still. Redis takes a little longer than the interval, and so may a busy process. */
  storeHeardMsMax: 1_500,
  /** Without an answer for this long, writes of other processes may be missing here. */
  storeStaleMsMax: 3_000,
  /** Newest writes that are kept for other processes. A process that missed more loads everything again. */
  storeMessagesKept: 2_000,
  /** A process that does not ask for the outbox for this long leaves it to another one. */
  outboxReaderMs: 10_000,

  // --- blobs
  blobsListedMax: 1_000,
  /** A part of an upload, held in memory twice. S3's own bounds are at least 5 MiB and at most 10 000 parts. */
  blobPartBytes: 8 * MIB,
  blobTimeoutMs: 30_000,
  /** How long a signature is used again. S3 takes one for a quarter of an hour, by its own clock. */
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
  LIMITS.meshMessageBytesMax * 4 <= LIMITS.meshNewsWaitingBytesMax &&
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
