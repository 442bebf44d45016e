// Reads diagnostics in telemetry: one entry or a list of them, each with a level and the name of a component.
import type { Json } from '../../../schemas/json.ts'

export interface NamedFault {
  /** The component. Empty if the device gave no name. */
  readonly name: string
  /** Name and message, to be shown to people. */
  readonly text: string
}

export interface Diagnostics {
  /** Components with a fault, the worst first, each once. */
  readonly faults: readonly NamedFault[]
  /** Names of the components that work. An entry without a name has an empty one. */
  readonly well: readonly string[]
}

interface Entry extends NamedFault {
  /** 0 is ok, 1 warn, 2 error, 3 stale or fatal. */
  readonly level: number
}

const LEVELS: Readonly<Record<string, number>> = { ok: 0, warn: 1, error: 2, stale: 3, fatal: 3 }
const FAULT_LEVEL = 2
const NAME_MAX = 128
const TEXT_MAX = 256

/** Returns undefined if no entry can be read. */
export function readDiagnostics(value: Json | undefined): Diagnostics | undefined {
  const byName = new Map<string, Entry>()
  for (const each of Array.isArray(value) ? value : [value]) {
    const entry = toEntry(each)
    if (entry !== undefined && entry.level > (byName.get(entry.name)?.level ?? Number.NEGATIVE_INFINITY))
      byName.set(entry.name, entry)
  }
  if (byName.size === 0) return undefined
  const entries = [...byName.values()]
  return {
    faults: entries.filter(({ level }) => level >= FAULT_LEVEL).sort((a, b) => b.level - a.level),
    well: entries.filter(({ level }) => level < FAULT_LEVEL).map(({ name }) => name),
  }
}

function toEntry(value: Json | undefined): Entry | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const fields: Readonly<Record<string, unknown>> = { ...value }
  const { level, name, message } = fields
  const number = typeof level === 'string' ? LEVELS[level.toLowerCase()] : level
  if (typeof number !== 'number' || !Number.isFinite(number)) return undefined
  const text = [name, message].filter((part) => typeof part === 'string' && part !== '').join(': ')
  return {
    level: number,
    name: typeof name === 'string' ? name.slice(0, NAME_MAX) : '',
    text: (text || 'diagnostics').slice(0, TEXT_MAX),
  }
}
