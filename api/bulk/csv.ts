// Reads and writes CSV (RFC 4180) piece by piece. A record is returned as soon as its line is complete.
import { API_LIMITS } from '../limits.ts'

type State = 'start' | 'plain' | 'quoted' | 'closed'

export class CsvReader {
  #state: State = 'start'
  #field = ''
  #record: string[] = []
  #chars = 0
  #problem: string | undefined

  /** The first error in the text so far. Nothing is read after it. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Returns the records that have been completed. Empty lines are skipped. */
  push(text: string): readonly (readonly string[])[] {
    const records: string[][] = []
    for (const char of text) {
      if (this.#problem !== undefined) return records
      const ended = this.#take(char)
      if (ended !== undefined) records.push(ended)
    }
    return records
  }

  end(): readonly (readonly string[])[] {
    if (this.#state === 'quoted') this.#problem ??= 'a quoted field does not end'
    const last = this.#problem === undefined ? this.#endRecord() : undefined
    return last === undefined ? [] : [last]
  }

  #take(char: string): string[] | undefined {
    if (++this.#chars > API_LIMITS.bulkRowCharsMax)
      this.#problem = `a row is longer than ${API_LIMITS.bulkRowCharsMax} characters`
    if (this.#state === 'quoted') {
      if (char === '"') this.#state = 'closed'
      else this.#field += char
      return undefined
    }
    if (char === ',') this.#endField()
    // A line ends with CR, LF or both. CR LF yields an empty line in between, which is skipped.
    else if (char === '\n' || char === '\r') return this.#endRecord()
    else this.#takeText(char)
    return undefined
  }

  #takeText(char: string): void {
    if (char === '"' && this.#state === 'start') this.#state = 'quoted'
    else if (char === '"' && this.#state === 'closed') {
      this.#field += char
      this.#state = 'quoted'
    } else if (this.#state === 'closed') this.#problem = 'there is text after a closing quote'
    else {
      this.#field += char
      this.#state = 'plain'
    }
  }

  #endField(): void {
    this.#record.push(this.#field)
    this.#field = ''
    this.#state = 'start'
  }

  #endRecord(): string[] | undefined {
    const isEmpty = this.#record.length === 0 && this.#field === ''
    this.#endField()
    const record = this.#record
    this.#record = []
    this.#chars = 0
    return isEmpty ? undefined : record
  }
}

/** Spreadsheets treat a field that begins with one of these as a formula. Some also accept the full-width signs. */
const FORMULA = /^[=+\-@\t\r\n'\uff1d\uff0b\uff0d\uff20]/

export function csvLine(fields: readonly string[]): string {
  return `${fields.map(csvField).join(',')}\r\n`
}

function csvField(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Reverts what `csvLine` did to make the field safe. */
export function unescapeFormula(field: string): string {
  return field.startsWith("'") && FORMULA.test(field.slice(1)) ? field.slice(1) : field
}
