// The times of a list as they stand in the address: instants, or times before now such as `-24h`.

export interface Times {
  readonly from?: string
  readonly to?: string
}

const BEFORE_NOW = /^-\d{1,4}[smhd]$/

/** Only what the service can read: a hostile or outdated address shows the list as if it were not there. */
export function readTimes(from: string, to: string): Times {
  const [begin, end] = [timeOf(from), timeOf(to)]
  return { ...(begin === undefined ? {} : { from: begin }), ...(end === undefined ? {} : { to: end }) }
}

function timeOf(text: string): string | undefined {
  if (BEFORE_NOW.test(text)) return text
  const ms = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}
