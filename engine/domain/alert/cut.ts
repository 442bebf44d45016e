// Shortens texts.

/** Returns at most `max` characters, with `…` in place of the rest. Never splits a character. */
export function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const end = charsMax - 1
  const isHalf = /[\uD800-\uDBFF]/.test(text.charAt(end - 1))
  return `${text.slice(0, isHalf ? end - 1 : end)}…`
}

/** Turns a text into one line, for a header or a subject. */
export function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not get through.
  return text.replace(/[\u0000-\u001F\u007F-\u009F\u2028\u2029]+/g, ' ').trim()
}
