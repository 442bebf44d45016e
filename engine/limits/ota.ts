// Limits for firmware updates: the jobs of a device, deployments, and how often a device is told about a job.

export const OTA_LIMITS = {
  // --- jobs of one device
  /** Jobs waiting behind the running one. */
  jobsQueuedMax: 8,
  jobsKeptMax: 16,
  /** How often a message is sent in one attempt without a PUBACK. */
  otaSendsMax: 5,
  otaRetryMs: 10_000,
  /** Restarts during one attempt before the update began, or lost connections right after it began. */
  otaRestartsMax: 3,
  otaDeferralsMax: 10,
  otaDeferMsMax: 7 * 86_400_000,
  /** A device that lost its connection while installing counts as restarted after this long. Until then it is asked
   *  nothing. */
  otaSuspectMs: 30_000,
  /** How long a device gets to report its running version if what it said may date from before its restart. */
  otaBirthMs: 5_000,
  /** A timer that ran while no device could be heard waits this long for what devices said meanwhile. */
  otaForgivenMs: 60_000,
  /** A service that wrote nothing for this long before its start counts as having been away. One that crashes again and
   *  again does not, so timers eventually expire. */
  awayMs: 10_000,
  otaRefreshMs: 60_000,
  otaProgressMs: 1_000,
  /** How long after the end of a job a proof of its success still counts. */
  otaLateMs: 7 * 86_400_000,
  /** How often the jobs of finished deployments are counted again because of such proofs. */
  otaLateCountMs: 10_000,
  otaBlockMs: 30 * 86_400_000,
  /** A device that is refused repeatedly is reported once within this time. */
  otaRefusedMs: 1_000,
  otaErrorCharsMax: 1_024,

  // --- hawkBit's device API (DDI)
  /** How long a device sleeps between two polls: with nothing to do, while a job is near, and while a job has waited for
   *  longer than `ddiNearMs`. */
  ddiSleepSec: 300,
  ddiSleepNearSec: 10,
  ddiSleepWaitingSec: 60,
  ddiNearMs: 600_000,
  /** A device counts as gone after twice its sleep plus this. */
  ddiGraceMs: 60_000,
  /** How long after a poll a device can be given a place. It polls again within this time if a job is near. */
  ddiTakesMs: 30_000,
  ddiDeferMs: 600_000,

  // --- deployments
  deploymentsOpenMax: 1_000,
  deploymentMembersMax: 250_000,
  /** Devices whose update state is queried together. */
  otaStatesAtOnce: 1_000,
  otaConcurrentMax: 1_000,
  otaRetriesMax: 10,
  /** The leader's rest between two rounds. */
  otaRestMinMs: 50,
  otaRestMaxMs: 500,
  otaRequestsAtOnce: 100,
  /** Members asked to take their job in one round. */
  otaEnlistedAtOnce: 500,
  /** Metrics checked by one gate. */
  gateMetricsMax: 8,
  otaGateRetryMs: 5_000,
  deploymentStagesMax: 20,
} as const
