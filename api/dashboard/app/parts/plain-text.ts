// Text that devices and people wrote, made safe to read: control characters and those that turn the direction of writing
// are shown as signs, since they could make a line look like another one.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g

export function plainText(text: string): string {
  return text.replaceAll(HIDDEN, (sign) => {
    const code = sign.codePointAt(0) ?? 0
    // Control pictures have their own block in Unicode.
    return code < 0x20
      ? String.fromCodePoint(0x2400 + code)
      : `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
  })
}

/** A value as JSON of several lines. */
export const plainJson = (value: unknown): string =>
  (JSON.stringify(value, null, 2) ?? '').split('\n').map(plainText).join('\n')
