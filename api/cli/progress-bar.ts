// A progress bar as text.

const CELLS = 24

/** The share is clamped to the range from 0 to 1. */
export function progressBar(share: number): string {
  const known = Math.min(1, Math.max(0, share))
  const full = Math.floor(known * CELLS)
  return `[${'#'.repeat(full)}${'-'.repeat(CELLS - full)}] ${Math.floor(known * 100)} %`
}
