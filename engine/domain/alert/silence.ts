// Silences mute the notifications of alerts. What they match is judged all the same (A6).
import type { WindowBody } from '../../../schemas/alert-rule.ts'
import type { AlertSeverity } from '../../../schemas/vocabulary.ts'
import type { Member } from './subject.ts'
import { isWithin } from './target.ts'
import { ALWAYS, type WindowState, windowClock } from './windows.ts'

export interface SilenceMatchers {
  readonly rule_id?: string
  readonly device_id?: string
  readonly group?: string
  /** A device type. */
  readonly type?: string
  readonly tag?: string
  readonly severity?: readonly AlertSeverity[]
}

/** A silence as it is stored. Times are milliseconds. */
export interface Silence {
  readonly silence_id: string
  readonly matchers: SilenceMatchers
  readonly starts_at: number
  readonly ends_at: number
  readonly windows: readonly WindowBody[]
  readonly comment: string
  readonly created_by: string
  readonly created_at: number
  readonly revision: number
}

export type SilenceEdit = Partial<Pick<Silence, 'matchers' | 'starts_at' | 'ends_at' | 'windows' | 'comment'>>

const YEAR_MS = 366 * 86_400_000

/** Completes the error message about another span. */
export const SILENCE_SPAN_EXPECTED = 'must come after starts_at, by at most a year'

/** Whether a silence may last so long. */
export function isSilenceSpan({ starts_at, ends_at }: Pick<Silence, 'starts_at' | 'ends_at'>): boolean {
  return ends_at > starts_at && ends_at - starts_at <= YEAR_MS
}

export interface CompiledSilence {
  readonly id: string
  readonly matches: (device: Member | undefined, ruleId: string, severity: AlertSeverity) => boolean
  readonly stateAt: (now: number) => WindowState
}

export function compileSilence({
  silence_id,
  matchers,
  starts_at,
  ends_at,
  windows,
}: Silence): CompiledSilence {
  const clock = windowClock(windows)
  const { rule_id, device_id, group, type, tag, severity } = matchers
  return {
    id: silence_id,
    matches: (device, ruleId, level) =>
      (rule_id === undefined || rule_id === ruleId) &&
      (severity === undefined || severity.includes(level)) &&
      (device_id === undefined || device?.id === device_id) &&
      (group === undefined || isWithin(device?.group, group)) &&
      (type === undefined || device?.type === type) &&
      (tag === undefined || (device?.tags.includes(tag) ?? false)),
    stateAt: (now) => {
      if (now >= ends_at) return OUTSIDE
      if (now < starts_at) return { ...OUTSIDE, changesAt: starts_at }
      const state = clock(now)
      return { ...state, changesAt: Math.min(state.changesAt, ends_at) }
    },
  }
}

const OUTSIDE: WindowState = { ...ALWAYS, isInside: false }

export type SilenceState = 'pending' | 'active' | 'expired'

export function silenceState({ starts_at, ends_at }: Silence, now: number): SilenceState {
  if (now >= ends_at) return 'expired'
  return now < starts_at ? 'pending' : 'active'
}
