// Whether the line is one to be thrifty on: the person asked their browser to save data, or an answer takes more than a second.
// Changes of the fleet then come less often, and the page says so.

interface Line {
  readonly saveData?: boolean
  /** An estimate of the browser, in milliseconds. */
  readonly rtt?: number
}

const SLOW_MS = 1000
const USUAL_MS = 500
const THRIFTY_MS = 5000

export function isThrifty(from: object): boolean {
  // What browsers have is in no standard yet, so the types do not know it.
  const line = 'connection' in from ? (from.connection as Line | undefined) : undefined
  return line?.saveData === true || (line?.rtt ?? 0) > SLOW_MS
}

/** How often changes of the fleet are asked for. */
export const fleetPaceMs = (isThriftyLine: boolean): number => (isThriftyLine ? THRIFTY_MS : USUAL_MS)
