// Groups by the number of the device: `site/{n%10}` is site/1 for device 1, 11, 21. `{n}` is the number, `{n/100}` its hundreds.

const PART = /\{n(?:([%/])(\d{1,9}))?\}/g

/** Undefined if a brace is left over. */
export function parsePattern(text: string): ((number: number) => string) | undefined {
  if (/[{}]/.test(text.replaceAll(PART, ''))) return undefined
  if (/\{n[%/]0+\}/.test(text)) return undefined
  return (number) =>
    text.replaceAll(PART, (_, operator: string | undefined, by: string | undefined) => {
      if (operator === undefined) return String(number)
      return String(operator === '%' ? number % Number(by) : Math.floor(number / Number(by)))
    })
}
