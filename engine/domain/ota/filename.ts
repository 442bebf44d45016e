// The name of an uploaded file: data for people, never a path.
const DEFAULT_FILENAME = 'firmware.bin'
const CHARS_MAX = 255

/** The last part of a path of any operating system, without control characters and the like. */
export function toFilename(given: string | undefined): string {
  const base = (given ?? '').split(/[/\\]/).at(-1) ?? ''
  const plain = base.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim()
  const short = Array.from(plain).slice(0, CHARS_MAX).join('').slice(0, CHARS_MAX)
  return /^\.*$/.test(short) ? DEFAULT_FILENAME : short
}
