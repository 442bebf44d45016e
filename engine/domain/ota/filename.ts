// The name of an uploaded file: data for people, never a path.
const DEFAULT_FILENAME = 'firmware.bin'
const CHARS_MAX = 255

/** The last part of a path of any operating system, without control characters and the like. */
export function toFilename(given: string | undefined): string {
  const base = (given ?? '').split(/[/\\]/).at(-1) ?? ''
  const plain = base.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim()
  // The end may be half a character, which no link and no header can contain.
  const short = plain.slice(0, CHARS_MAX).replace(/[\uD800-\uDBFF]$/, '')
  return /^\.*$/.test(short) ? DEFAULT_FILENAME : short
}
