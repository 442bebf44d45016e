// Derives a group from the number of a device. `site/{n%10}` is site/1 for devices 1, 11 and 21. `{n}` is the number
// itself, and `{n/100}` is the number divided by 100 and rounded down.

const PART = /\{n(?:([%/])(\d{1,9}))?\}/g

/** Returns undefined if the text contains any other brace or divides by zero. */
export function parsePattern(text: string): ((number: number) => string) | undefined {
  if (/[{}]/.test(text.replaceAll(PART, ''))) return undefined
  if (/\{n[%/]0+\}/.test(text)) return undefined
  return (number) =>
    text.replaceAll(PART, (_, operator: string | undefined, by: string | undefined) => {
      if (operator === undefined) return String(number)
      return String(operator === '%' ? number % Number(by) : Math.floor(number / Number(by)))
    })
}
