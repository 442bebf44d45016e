// Diagnostics in telemetry: one entry or a list, each with a level. The worst one counts.
import type { Json } from '../../../schemas/json.ts'

export interface Diagnostic {
  /** 0 is ok, 1 warn, 2 error, 3 stale or fatal. */
  readonly level: number
  readonly text: string
}

const LEVELS: Readonly<Record<string, number>> = { ok: 0, warn: 1, error: 2, stale: 3, fatal: 3 }
const TEXT_MAX = 256

export function worstDiagnostic(value: Json | undefined): Diagnostic | undefined {
  const entries = Array.isArray(value) ? value : [value]
  let worst: Diagnostic | undefined
  for (const entry of entries) {
    const diagnostic = toDiagnostic(entry)
    if (diagnostic !== undefined && (worst === undefined || diagnostic.level > worst.level))
      worst = diagnostic
  }
  return worst
}

function toDiagnostic(entry: Json | undefined): Diagnostic | undefined {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return undefined
  const fields: Readonly<Record<string, unknown>> = { ...entry }
  const { level, name, message } = fields
  const number = typeof level === 'string' ? LEVELS[level.toLowerCase()] : level
  if (typeof number !== 'number' || !Number.isFinite(number)) return undefined
  const text = [name, message].filter((part) => typeof part === 'string' && part !== '').join(': ')
  return { level: number, text: (text || 'diagnostics').slice(0, TEXT_MAX) }
}
