// The bounds that schemas state. They are also part of `LIMITS` in `engine/limits.ts`.

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
  /** Short, because a late emergency stop is worse than one that has visibly failed. */
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
  /** Several comma-separated names. */
  metricListCharsMax: 4_096,
  rawPointsDefault: 1_000,
  rawPointsMax: 10_000,

  // --- the whole fleet
  /** Rows of an index. */
  /** Devices that a query for the telemetry of many devices may name. */
  telemetryDevicesNamedMax: 20,
  fleetDevicesMax: 200_000,
  fleetKeysMax: 1_000,
  fleetSubscriptionDevicesMax: 500,
  fleetSubscriptionMetricsMax: 4,
  /** The shortest intervals at which the channel `fleet` sends changes, and at which it sends values. */
  fleetThrottleMsMin: 250,
  fleetThrottleMsDefault: 500,
  fleetValuesThrottleMsMin: 1_000,
  latestDevicesMax: 1_000,
  latestMetricsMax: 10,
  /** The picture under the plan of devices. */
  floorPlanBytesMax: 4 * 1024 * KIB,
  /** A browser decodes each pixel to 4 bytes, however small the file is. An A0 sheet at 150 dpi has 35 million. */
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

// `.` and `..` are excluded, because file paths and URLs would resolve them.
const GROUP_SEGMENT = '(?!\\.{1,2}(?:/|$))[A-Za-z0-9._-]{1,64}'
/** What the path of a group looks like. */
export const GROUP_PATTERN = `^${GROUP_SEGMENT}(/${GROUP_SEGMENT}){0,${BODY_LIMITS.groupLevelsMax - 1}}$`
