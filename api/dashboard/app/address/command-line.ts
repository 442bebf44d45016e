// A command as it is typed in the palette: `robot-7 blink times=3 colour="light blue"`. A value is JSON where it is some, and
// a text otherwise.
import { type Json, parseJson } from '../../../../schemas/json.ts'

export interface CommandLine {
  readonly device: string
  readonly command: string
  readonly data: Readonly<Record<string, Json>>
}

const WORD = /(?:[^\s"]|"[^"]*")+/g

/** Undefined if the text is none: it needs a device, a command, and pairs after them. */
export function readCommandLine(text: string): CommandLine | undefined {
  const [device, command, ...pairs] = text.match(WORD) ?? []
  if (device === undefined || command === undefined || command.includes('=')) return undefined
  const data: Record<string, Json> = {}
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    if (at < 1) return undefined
    Object.defineProperty(data, pair.slice(0, at), { value: valueIn(pair.slice(at + 1)), enumerable: true })
  }
  return { device, command, data }
}

function valueIn(text: string): Json {
  const value = parseJson(text)
  return value === undefined ? text.replaceAll('"', '') : value
}
