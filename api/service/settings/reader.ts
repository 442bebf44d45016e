// Reads and checks single settings, and collects the errors.
import { readFileSync } from 'node:fs'
import { nearestName } from '../../../schemas/nearest-name.ts'
import { parseAddress } from './address.ts'
import { NAMES, type Name, SECRET_NAMES } from './names.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export const PORT = { min: 0, max: 65_535 }

interface Range {
  readonly min: number
  readonly max: number
}

export class Reader {
  readonly #values = new Map<string, string>()
  readonly #errors: string[] = []

  constructor(environment: Environment) {
    this.#readSecretFiles(environment)
    const known: ReadonlySet<string> = new Set(NAMES)
    for (const [name, value = ''] of Object.entries(environment)) {
      if (!name.startsWith('FLEET_') || name.startsWith('FLEET_CLI_') || isSecretFile(name)) continue
      // An empty value counts as not set, because compose files pass unset variables that way.
      if (known.has(name)) value !== '' && this.#values.set(name, value)
      else this.#errors.push(`${name} is not a known setting; ${advice(name)}`)
    }
  }

  /** The first error, or undefined. */
  get firstError(): string | undefined {
    return this.#errors[0]
  }

  refuse(name: Name, what: string): void {
    this.#errors.push(`${name} ${what}`)
  }

  text(name: Name): string | undefined {
    return this.#values.get(name)
  }

  word<const Words extends readonly string[]>(
    name: Name,
    words: Words,
    otherwise: Words[number],
  ): Words[number] {
    const text = this.text(name)
    if (text === undefined) return otherwise
    const word = words.find((candidate) => candidate === text)
    if (word === undefined) this.refuse(name, `is "${text}"; expected one of ${words.join(', ')}`)
    return word ?? otherwise
  }

  /** Reads a comma-separated list. */
  list(name: Name, isValid: (item: string) => boolean, expected: string): readonly string[] {
    const items = this.#items(name)
    const firstError = items.find((item) => !isValid(item))
    if (firstError !== undefined)
      this.refuse(name, `has "${firstError}"; expected ${expected}, separated by commas`)
    return items
  }

  /** Errors do not show the value, because it may be a secret. */
  matching(name: Name, pattern: RegExp, expected: string): string | undefined {
    const text = this.text(name)
    if (text !== undefined && !pattern.test(text)) this.refuse(name, `expected ${expected}`)
    return text
  }

  /** Errors do not show the value, because it may contain a password. */
  url(name: Name, schemes: readonly string[], example: string): string | undefined {
    const [url, more] = this.urls(name, schemes, example)
    if (more !== undefined)
      this.refuse(name, `has several addresses; expected a single one, such as ${example}`)
    return url
  }

  /** Reads a comma-separated list of addresses. */
  urls(name: Name, schemes: readonly string[], example: string): readonly string[] {
    const items = this.#items(name)
    if (!items.every((item) => schemes.includes(parseAddress(item)?.scheme ?? '')))
      this.refuse(name, `expected an address such as ${example}`)
    return items
  }

  number(name: Name, range: Range & { readonly default: number }): number {
    return this.numberIfSet(name, range) ?? range.default
  }

  numberIfSet(name: Name, { min, max }: Range): number | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= min && value <= max))
      this.refuse(name, `is "${text}"; expected a whole number from ${min} to ${max}`)
    return value
  }

  #items(name: Name): readonly string[] {
    return (this.text(name) ?? '').split(',').flatMap((item) => item.trim() || [])
  }

  #readSecretFiles(environment: Environment): void {
    for (const name of SECRET_NAMES) {
      const path = environment[`${name}_FILE`] ?? ''
      if (path === '') continue
      if ((environment[name] ?? '') !== '')
        this.refuse(name, `and ${name}_FILE are both set; set only one of them`)
      try {
        // Editors end a file with a newline, which is not part of the secret.
        const text = readFileSync(path, 'utf8').trimEnd()
        this.#values.set(name, text)
        // There may be no former keys. Anything else was to be set, and would be an empty password, or left out.
        if (text === '' && name !== 'FLEET_JWT_PREVIOUS_KEYS')
          this.#errors.push(`${name}_FILE is ${path}, which is empty`)
      } catch {
        this.#errors.push(`${name}_FILE is ${path}, which cannot be read`)
      }
    }
  }
}

/** Listing all names would fill a screen, so they are listed only if no known name is similar. */
function advice(name: string): string {
  const bare = (text: string) => text.replace(/^FLEET_/, '')
  const nearest = nearestName(bare(name), NAMES.map(bare))
  return nearest === undefined
    ? `known settings are ${NAMES.join(', ')}`
    : `did you mean FLEET_${nearest}? deploy/README.md lists all settings`
}

function isSecretFile(name: string): boolean {
  return SECRET_NAMES.some((secret) => name === `${secret}_FILE`)
}
