import type { Connection } from './live.ts'

/** The time until which the service was heard: now, or when it was heard last. What has not been heard since then neither raises
 *  a case nor clears one. */
export function heardUntilMs(
  at: Connection,
  { nowMs, browserMs }: { readonly nowMs: number; readonly browserMs: number },
): number {
  // `since` is a time of the browser's clock.
  return 'since' in at ? nowMs - (browserMs - at.since) : nowMs
}
