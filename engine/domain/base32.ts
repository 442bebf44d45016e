// Crockford's base 32, in lower case: no i, l, o, u. Strings of equal length sort like the numbers they encode.
export const BASE32_DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'

export function base32(value: number, chars: number): string {
  let text = ''
  let rest = value
  for (let i = 0; i < chars; i++) {
    text = BASE32_DIGITS.charAt(rest % 32) + text
    rest = Math.floor(rest / 32)
  }
  return text
}
