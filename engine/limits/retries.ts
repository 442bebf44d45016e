// How long work waits after a failure before it is tried again. Where there is a `…Max` beside a delay, the delay
// grows up to it with every attempt that fails.

export const RETRY_LIMITS = {
  // --- runtime
  appendRetryMs: 250,
  appendRetryMsMax: 2_000,
  /** A shard's thread that was lost. */
  shardRetryMs: 250,
  shardRetryMsMax: 2_000,
  saveRetryMs: 250,
  checkpointRetryMs: 500,
  /** A claim on partitions. */
  claimRetryMs: 250,
  /** The question for the log's end. */
  logEndRetryMs: 250,
  insertRetryMs: 200,
  insertRetryMsMax: 5_000,
  historyRetryMs: 500,
  broadcastRetryMs: 1_000,
  dutyRetryMs: 1_000,
  /** The search for the owner of a partition. */
  ownerSearchRetryMs: 100,

  // --- servers
  mqttReconnectMs: 250,
  mqttReconnectMsMax: 5_000,
  natsReconnectMs: 250,
  natsStartRetryMs: 250,
  natsReadRetryMs: 200,
  natsPublishRetryMs: 50,
  natsPublishRetryMsMax: 1_000,
  storeReconnectMs: 50,
  storeReconnectMsMax: 2_000,
  storeFollowRetryMs: 200,
  telemetryStartRetryMs: 1_000,
  chdbLockRetryMs: 100,
  chdbRestartDelayMsMax: 5_000,
  blobAttemptsMax: 3,
  blobRetryMs: 200,
} as const
