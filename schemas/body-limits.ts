// The bounds that a schema states. They are part of `LIMITS` in `engine/limits.ts` as well.

const KIB = 1024

export const BODY_LIMITS = {
  // --- devices
  bulkRowsMax: 10_000,
  bulkJsonBytesMax: 1_048_576,
  metadataBytesMax: 32 * KIB,
  metadataDepthMax: 10,
  tagsMax: 50,
  tagCharsMax: 64,
  groupCharsMax: 256,
  groupLevelsMax: 8,
  nameCharsMax: 256,
  descriptionCharsMax: 4_096,
  reasonCharsMax: 1_024,
  heartbeatTimeoutSecMin: 1,
  heartbeatTimeoutSecMax: 604_800,

  // --- shadows and commands
  shadowSideBytesMax: 64 * KIB,
  shadowDepthMax: 10,
  shadowKeyCharsMax: 128,
  clientTokenCharsMax: 64,
  commandNameCharsMax: 128,
  commandDataBytesMax: 64 * KIB,
  commandTimeoutSecMax: 7 * 86_400,
  commandTimeoutSecDefault: 30,
  /** Short, because a late emergency stop is worse than one that is known to have failed. */
  commandTimeoutSecCritical: 10,
  idempotencyKeyCharsMax: 128,
  /** Longest time that a caller may wait for a command to end. */
  waitSecMax: 60,

  // --- firmware
  firmwareVersionCharsMax: 128,
  changelogCharsMax: 64 * KIB,

  // --- lists and series
  perPageDefault: 50,
  perPageMax: 200,
  pageMax: 1_000_000,
  cursorCharsMax: 256,
  auditFilterCharsMax: 256,
  findCharsMax: 256,
  metricNameBytesMax: 256,
  /** Several names, separated by commas. */
  metricListCharsMax: 4_096,
  rawPointsDefault: 1_000,
  rawPointsMax: 10_000,

  // --- the whole fleet
  /** Rows of an index. */
  /** Devices that a question about the telemetry of many may name. */
  telemetryDevicesNamedMax: 20,
  fleetDevicesMax: 200_000,
  fleetKeysMax: 1_000,
  fleetSubscriptionDevicesMax: 500,
  fleetSubscriptionMetricsMax: 4,
  /** The channel `fleet` tells of changes at most this often, and of values at most that often. */
  fleetThrottleMsMin: 250,
  fleetThrottleMsDefault: 500,
  fleetValuesThrottleMsMin: 1_000,
  latestDevicesMax: 1_000,
  latestMetricsMax: 10,
  /** The picture under the plan of devices. */
  floorPlanBytesMax: 4 * 1024 * KIB,
  /** A browser unpacks it to 4 bytes each, however small the file is. A sheet of A0 with 150 dots per inch has 35 million. */
  floorPlanPixelsMax: 40_000_000,

  // --- people and tokens
  emailCharsMax: 254,
  passwordCharsMin: 8,
  passwordCharsMax: 256,
  groupsPerUserMax: 100,
  refreshTokenCharsMax: 16_384,
  loginTicketCharsMax: 128,
  preferencesBytesMax: 16 * KIB,
  viewPathCharsMax: 256,
  viewQueryCharsMax: 4_096,
  downloadPathCharsMax: 8_192,
  deviceTokenHoursMax: 8_760,
  deviceTokenHoursDefault: 24,
  provisionedDevicesMax: 100_000,
  provisioningIdPatternCharsMax: 64,
  provisioningKeyCharsMax: 4_096,
  provisioningKeySecMin: 60,
  provisioningKeySecMax: 5 * 365 * 86_400,
  provisioningKeySecDefault: 30 * 86_400,
  deviceTokenSecMin: 60,
  deviceTokenSecMax: 5 * 365 * 86_400,

  // --- /ws
  subscriptionIdCharsMax: 64,
  metricsPerSubscriptionMax: 100,
  throttleMsMax: 3_600_000,
} as const
