// Plans which fault hits which part and when, from a seed alone.
import type { Random } from '../../../engine/edge/simulator/roaming/random.ts'

/** `sever` is a cut that lasts until others take over. `stop` is an orderly end, as in a rolling restart. `wipe` is a kill
 *  after which all data is gone, `power_cut` one after which the disk of ClickHouse has only what was synced. `kill`, `stop`,
 *  `wipe`, `power_cut` and `pause` last until the process is back. */
export const FAULT_KINDS = [
  'kill',
  'stop',
  'wipe',
  'power_cut',
  'pause',
  'cut',
  'sever',
  'slow',
  'freeze',
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

export interface Fault {
  /** Milliseconds since the beginning of the run. */
  readonly atMs: number
  readonly target: string
  readonly kind: FaultKind
  readonly forMs: number
}

export interface Faultable {
  readonly name: string
  /** A fault that is listed twice occurs twice as often. */
  readonly kinds: readonly FaultKind[]
}

export interface PlanOptions {
  readonly durationMs: number
  readonly targets: readonly Faultable[]
}

const FIRST_AT_MS = 1_500
/** All faults are over so long before the end. */
const CALM_MS = 2_000
const GAP_MS = { least: 800, most: 6_000 } as const
const AT_ONCE_MAX = 2
const FOR_MS: Readonly<Record<FaultKind, { readonly least: number; readonly most: number }>> = {
  kill: { least: 0, most: 4_000 },
  stop: { least: 0, most: 3_000 },
  wipe: { least: 0, most: 3_000 },
  power_cut: { least: 0, most: 3_000 },
  pause: { least: 1_000, most: 20_000 },
  cut: { least: 0, most: 3_000 },
  sever: { least: 10_000, most: 25_000 },
  slow: { least: 2_000, most: 8_000 },
  freeze: { least: 1_000, most: 15_000 },
}

/** Faults in order of time. No target has two at a time, and no more than two targets have one at a time. */
export function planFaults(dice: Random, { durationMs, targets }: PlanOptions): readonly Fault[] {
  const plan: Fault[] = []
  let atMs = FIRST_AT_MS
  for (;;) {
    const under = plan.filter((fault) => endOf(fault) > atMs)
    if (under.length >= AT_ONCE_MAX) {
      atMs = Math.min(...under.map(endOf))
      continue
    }
    const free = targets.filter(({ name }) => !under.some((fault) => fault.target === name))
    const choices = free.flatMap(({ name, kinds }) => kinds.map((kind) => ({ target: name, kind })))
    const choice = choices[Math.floor(dice() * choices.length)]
    if (choice === undefined) return plan
    const { least, most } = FOR_MS[choice.kind]
    // Short faults are more frequent, since most bugs show at the edges of a fault.
    const forMs = Math.round(least + (most - least) * dice() ** 2)
    const fault = { atMs: Math.round(atMs), ...choice, forMs }
    if (endOf(fault) > durationMs - CALM_MS) return plan
    plan.push(fault)
    atMs += GAP_MS.least + (GAP_MS.most - GAP_MS.least) * dice()
  }
}

function endOf({ atMs, forMs }: Fault): number {
  return atMs + forMs
}
