// Firmware updates: jobs of one device, deployments, and how often a device is told.

export const OTA_LIMITS = {
  // --- jobs of one device
  /** Jobs that wait behind the one that runs. */
  jobsQueuedMax: 8,
  jobsKeptMax: 16,
  /** Messages of one attempt without a PUBACK. */
  otaSendsMax: 5,
  otaRetryMs: 10_000,
  /** Restarts in one attempt before the update began, and losses of the connection right after it. */
  otaRestartsMax: 3,
  otaDeferralsMax: 10,
  otaDeferMsMax: 7 * 86_400_000,
  /** A device that lost its connection while it installs is asked nothing for this long before it counts as restarted. */
  otaSuspectMs: 30_000,
  /** A device that may have said something of before its restart has so long to say what it runs now. */
  otaBirthMs: 5_000,
  /** How long a timer that ran while nothing could be heard waits for what devices said meanwhile. */
  otaForgivenMs: 60_000,
  /** A service that wrote nothing for so long before it starts was away. One that dies again and again is not, so timers
   *  run out in the end. */
  awayMs: 10_000,
  otaRefreshMs: 60_000,
  otaProgressMs: 1_000,
  /** A proof that comes later than the end of its job still counts for this long. */
  otaLateMs: 7 * 86_400_000,
  /** How often the jobs of deployments that have finished are counted again because of such a proof. */
  otaLateCountMs: 10_000,
  otaBlockMs: 30 * 86_400_000,
  /** A device that is sent away again and again is told of once in this time. */
  otaRefusedMs: 1_000,
  otaErrorCharsMax: 1_024,

  // --- hawkBit's device API (DDI)
  /** How long a device sleeps between two questions: with nothing to do, while a job is near, and while one has waited
   *  for longer than `ddiNearMs`. */
  ddiSleepSec: 300,
  ddiSleepNearSec: 10,
  ddiSleepWaitingSec: 60,
  ddiNearMs: 600_000,
  /** A device is gone after twice its sleep and this. */
  ddiGraceMs: 60_000,
  /** A device takes a place for this long after it asked. It asks again before, if a job is near. */
  ddiTakesMs: 30_000,
  ddiDeferMs: 600_000,

  // --- deployments
  deploymentsOpenMax: 1_000,
  deploymentMembersMax: 250_000,
  /** Devices whose state of updates is asked for at once. */
  otaStatesAtOnce: 1_000,
  otaConcurrentMax: 1_000,
  otaRetriesMax: 10,
  /** Enough for the final state of the last job to arrive. */
  otaTickMs: 500,
  otaRequestsAtOnce: 100,
  /** Metrics that one gate looks at. */
  gateMetricsMax: 8,
  otaGateRetryMs: 5_000,
  deploymentStagesMax: 20,
} as const
