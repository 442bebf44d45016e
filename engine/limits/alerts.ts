// Limits for alerts: channels, deliveries, rules and silences.

export const ALERT_LIMITS = {
  channelsMax: 200,
  /** Notices taken from the shards' queue at a time. */
  noticesTakenMax: 1_000,
  /** Notices processed before other work has its turn: a few milliseconds of work. */
  noticesAtOnceMax: 50,
  /** Alerts whose notices were already taken, remembered in case a save adds the notices again. */
  noticesRememberedMax: 10_000,
  /** How often the leader looks for notices and for work that is due. */
  noticesPollMs: 100,
  /** Alerts waiting to be sent, per channel. */
  notificationsQueuedMax: 10_000,
  /** Deliveries in flight, which a crash may repeat. */
  deliveriesInFlightMax: 32,
  deliveriesInFlightPerChannelMax: 3,
  /** Finished deliveries that can still be listed. */
  deliveriesKeptMax: 10_000,
  deliveriesKeptMs: 30 * 86_400_000,
  /** Alerts for which it is remembered which channels were told, and up to which event. */
  notifiedAlertsMax: 20_000,
  notifiedPerAlertMax: 20,
  channelProbeMs: 60_000,
  digestEveryMs: 60_000,
  /** Consecutive deliveries that failed for good after which a channel counts as failing. */
  channelFailuresMax: 3,
  /** How long after a rotation the old secret signs in addition to the new one. */
  formerSecretMs: 86_400_000,
  channelTestsPerMinute: 6,
  channelTestMs: 15_000,

  // --- rules, what a device keeps of them, silences
  rulesMax: 1_000,
  /** Rules evaluated for one device. If more apply, the oldest are used. */
  rulesPerDeviceMax: 100,
  ruleBytesMax: 64 * 1024,
  conditionDepthMax: 4,
  conditionLeavesMax: 16,
  targetDevicesMax: 1_000,
  ruleIdCharsMax: 256,
  /** Segments of a group path that a rule may split its fleet alerts by. */
  groupLevelsMax: 32,
  /** Open fleet alerts of one rule, one per group. */
  fleetGroupsMax: 1_000,
  /** How often the leader evaluates the counts of the partition owners. */
  fleetLookMs: 500,
  labelsMax: 16,
  labelCharsMax: 128,
  ruleMessageCharsMax: 1_024,
  alertDurationSecMax: 2_592_000,
  alertWindowsMax: 14,
  /** Open alerts in total. Each shard has a share, according to its partitions. */
  alertsOpenMax: 100_000,
  /** When a condition whose alert found no room is evaluated again, unless an alert makes room earlier. */
  alertsFullRetryMs: 60_000,
  alertsResolvedKeptMax: 16,
  alertCommentsMax: 100,
  alertCommentCharsMax: 2_000,
  silencesMax: 1_000,
  /** Values kept to compute a rate. */
  rateSamplesMax: 32,
  /** How long an event counts if its rule does not say. */
  eventHoldSecDefault: 300,
  /** How far into the list of alerts pages reach. Filters shorten the list. */
  alertsListedMax: 10_000,
  alertMovesShownMax: 200,
} as const
