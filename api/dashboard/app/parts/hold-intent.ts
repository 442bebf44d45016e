// When a press of a button counts that must neither wait for a dialog nor happen by one slip: it is held for a second, or
// pressed twice by the keyboard. Pure: times come in, a decision goes out.

export const HOLD_MS = 1000
/** The second press of a key comes within this time of the first one. */
export const TWICE_WITHIN_MS = 5000

export interface Intent {
  /** When a key armed it; undefined is unarmed. */
  readonly armedAtMs: number | undefined
}

export const UNARMED: Intent = { armedAtMs: undefined }

/** A press by a key, or by what a screen reader does for one. */
export function keyPressed(
  { armedAtMs }: Intent,
  nowMs: number,
): { readonly intent: Intent; readonly isMeant: boolean } {
  const isSecond = armedAtMs !== undefined && nowMs - armedAtMs <= TWICE_WITHIN_MS
  return { intent: isSecond ? UNARMED : { armedAtMs: nowMs }, isMeant: isSecond }
}
