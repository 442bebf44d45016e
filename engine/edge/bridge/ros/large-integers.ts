// Converts integers above 2^53 in JSON text to strings, because numbers of JavaScript would round them.

/** A quick test for integers that may be too large. All integers of up to 15 digits are safe. */
const MAYBE_LARGE = /[-:,[\s]\d{16,}(?![\d.eE])/

/** Returns the JSON text with each unsafe integer as a string. */
export function quoteLargeIntegers(text: string): string {
  if (!MAYBE_LARGE.test(text)) return text
  const parts: string[] = []
  let copied = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === QUOTE) at = endOfString(text, at)
    else if (char === MINUS || isDigit(char)) {
      const end = endOfNumber(text, at)
      const number = text.slice(at, end)
      if (/^-?\d{16,}$/.test(number) && !Number.isSafeInteger(Number(number))) {
        parts.push(text.slice(copied, at), `"${number}"`)
        copied = end
      }
      at = end - 1
    }
  }
  return parts.join('') + text.slice(copied)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const MINUS = 0x2d

function isDigit(char: number): boolean {
  return char >= 0x30 && char <= 0x39
}

/** Returns the index of the closing quote. */
export function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at
}

function endOfNumber(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && NUMBER.includes(text.charAt(at))) at++
  return at
}

const NUMBER = '0123456789+-.eE'
