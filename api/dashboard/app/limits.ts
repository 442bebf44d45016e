// The bounds of the page (D10). Each is shown where it is reached.
export const LIMITS = {
  queryCacheEntriesMax: 200,
  /** The letters of all answers as JSON. */
  queryCacheCharsMax: 32_000_000,
  toastsMax: 3,
  logLinesMax: 5000,
  chartSeriesMax: 8,
  compareDevicesMax: 8,
  pinnedColumnsMax: 3,
  indexDevicesMax: 200_000,
  subscriptionsMax: 100,
  peekHistoryMax: 50,
  namedPeopleMax: 5000,
  paletteRowsMax: 50,
} as const
