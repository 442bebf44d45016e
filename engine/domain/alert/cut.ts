// Texts within bounds.

/** At most so many characters, with `…` in place of what is missing. Never cuts a character in two. */
export function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const end = charsMax - 1
  const isHalf = /[\uD800-\uDBFF]/.test(text.charAt(end - 1))
  return `${text.slice(0, isHalf ? end - 1 : end)}…`
}

/** One line: what a header or a subject takes. */
export function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not get through.
  return text.replace(/[\u0000-\u001F\u007F-\u009F\u2028\u2029]+/g, ' ').trim()
}
