// A bar that shows how far something is, as text.

const CELLS = 24

/** The share is between 0 and 1; what is beyond is shown as the nearest of both. */
export function progressBar(share: number): string {
  const known = Math.min(1, Math.max(0, share))
  const full = Math.floor(known * CELLS)
  return `[${'#'.repeat(full)}${'-'.repeat(CELLS - full)}] ${Math.floor(known * 100)} %`
}
