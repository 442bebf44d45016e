// Delays before failed work is retried. A delay that has a `…Max` beside it grows up to that value with every failed
// attempt.

export const RETRY_LIMITS = {
  // --- runtime
  appendRetryMs: 250,
  appendRetryMsMax: 2_000,
  /** Restarting a shard's thread that was lost. */
  shardRetryMs: 250,
  shardRetryMsMax: 2_000,
  saveRetryMs: 250,
  checkpointRetryMs: 500,
  /** Claiming partitions. */
  claimRetryMs: 250,
  /** Asking for the end of the log. */
  logEndRetryMs: 250,
  insertRetryMs: 200,
  insertRetryMsMax: 5_000,
  historyRetryMs: 500,
  broadcastRetryMs: 1_000,
  dutyRetryMs: 1_000,
  /** Looking for the owner of a partition. */
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
