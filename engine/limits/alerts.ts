// Bounds of alerts: of channels and of what is delivered to them, of rules and of silences.

export const ALERT_LIMITS = {
  channelsMax: 200,
  /** Notices taken from the shards' queue at once. */
  noticesTakenMax: 1_000,
  /** Notices that are looked at before others have their turn: a few milliseconds of work. */
  noticesAtOnceMax: 50,
  /** Alerts whose notices were taken, and are known if a save brings them back. */
  noticesRememberedMax: 10_000,
  /** How often the leader looks for notices, and for what is due. */
  noticesPollMs: 100,
  /** Alerts that wait to be told of, per channel. */
  notificationsQueuedMax: 10_000,
  /** What a crash may repeat. */
  deliveriesInFlightMax: 32,
  deliveriesInFlightPerChannelMax: 3,
  /** Finished deliveries that are kept for reading. */
  deliveriesKeptMax: 10_000,
  deliveriesKeptMs: 30 * 86_400_000,
  /** Alerts of which it is known who was told, and how much of each. */
  notifiedAlertsMax: 20_000,
  notifiedPerAlertMax: 20,
  channelProbeMs: 60_000,
  digestEveryMs: 60_000,
  /** Deliveries in a row that fail for good, until the channel is failing. */
  channelFailuresMax: 3,
  /** How long the secret from before a rotation signs, too. */
  formerSecretMs: 86_400_000,
  channelTestsPerMinute: 6,
  channelTestMs: 15_000,

  // --- rules, what a device keeps of them, silences
  rulesMax: 1_000,
  /** Rules that are judged for one device. If more fit, the oldest count. */
  rulesPerDeviceMax: 100,
  ruleBytesMax: 64 * 1024,
  conditionDepthMax: 4,
  conditionLeavesMax: 16,
  targetDevicesMax: 1_000,
  ruleIdCharsMax: 256,
  /** Segments of a group path by which fleet alerts may be told apart. */
  groupLevelsMax: 32,
  /** Fleet alerts of one rule that are open at once, one per group. */
  fleetGroupsMax: 1_000,
  /** How often the leader looks at what the owners count. */
  fleetLookMs: 500,
  labelsMax: 16,
  labelCharsMax: 128,
  ruleMessageCharsMax: 1_024,
  alertDurationSecMax: 2_592_000,
  alertWindowsMax: 14,
  /** Alerts that are open in all. Each shard has its share, by its partitions. */
  alertsOpenMax: 100_000,
  /** How soon a condition without room for its alert is looked at again, if no alert makes room before. */
  alertsFullRetryMs: 60_000,
  alertsResolvedKeptMax: 16,
  alertCommentsMax: 100,
  alertCommentCharsMax: 2_000,
  silencesMax: 1_000,
  /** Values that are kept to compute a rate. */
  rateSamplesMax: 32,
  /** How long an event counts if the rule does not say. */
  eventHoldSecDefault: 300,
  /** Filters of the list of alerts reach this far into it. */
  alertsListedMax: 10_000,
  alertMovesShownMax: 200,
} as const
