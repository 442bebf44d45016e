// How long to wait before the next connection: full jitter, so that the tabs of a restarted service do not return at once.
const FIRST_MS = 500
const MAX_MS = 30_000
/** The service says that it restarts: it is back in a moment. */
const RESTART = 1012
const RESTART_MS = 2000
/** There are too many sockets: places become free by people, not within a second. */
const TOO_MANY = 4429
const TOO_MANY_MS = 10_000

/** `chance` is from 0 to 1. */
export function nextPauseMs(closeCode: number, tries: number, chance: number): number {
  if (closeCode === RESTART && tries === 0) return Math.round(RESTART_MS * chance)
  if (closeCode === TOO_MANY) return Math.round(TOO_MANY_MS * (1 + chance))
  const most = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(tries, 10))
  return Math.round(Math.max(FIRST_MS / 2, most * chance))
}
