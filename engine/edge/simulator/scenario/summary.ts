// Counts what happens in a simulation and compares the result with the expectations.
import type { Histogram } from '../../histogram.ts'

import type { CommandFate, Expectation } from './scenario.ts'

const ERROR_KINDS = [
  /** The broker or the network ended a connection. */
  'disconnected',
  'refused',
  'unreachable',
  /** The broker sent nothing for longer than the keep-alive allows. */
  'silent',
  /** Messages that were unacknowledged when their connection ended. They are sent again unless the device was
   *  stopped. */
  'unacknowledged',
  /** Messages that were dropped because too many were waiting to be sent. */
  'held_back',
  'download_failed',
  'not_registered',
] as const
export type ErrorKind = (typeof ERROR_KINDS)[number]

const COMMAND_COUNTS = ['received', 'repeated', 'completed', 'failed', 'ignored', 'unknown'] as const

/** The names that an expectation may use. `ota.<state>` stands for any state. */
export const METRICS: readonly string[] = [
  ...['devices', 'connected', 'connects', 'published', 'acked', 'p50_ms', 'p99_ms', 'max_ms'],
  ...COMMAND_COUNTS.map((name) => `commands.${name}`),
  ...ERROR_KINDS.map((kind) => `errors.${kind}`),
  ...['errors.total', 'ota.<state>'],
]

export function isMetric(name: string): boolean {
  return METRICS.includes(name) || /^ota\.[a-z_]{1,32}$/.test(name)
}

export class Counts {
  devices = 0
  connected = 0
  connects = 0
  published = 0
  acked = 0
  readonly commands = Object.fromEntries(COMMAND_COUNTS.map((name) => [name, 0])) as Record<
    'received' | 'repeated' | CommandFate,
    number
  >
  readonly errors = new Map<ErrorKind, number>()
  /** The number of devices by their latest update status, whether or not they reported it. */
  readonly ota = new Map<string, number>()

  error(kind: ErrorKind, count = 1): void {
    if (count > 0) this.errors.set(kind, (this.errors.get(kind) ?? 0) + count)
  }

  moveOta(from: string | undefined, to: string): void {
    if (from !== undefined) this.ota.set(from, (this.ota.get(from) ?? 1) - 1)
    this.ota.set(to, (this.ota.get(to) ?? 0) + 1)
  }
}

export interface Summary {
  readonly name: string
  readonly seed: number
  readonly duration_sec: number
  readonly devices: number
  /** The number of devices that are connected at the end. */
  readonly connected: number
  readonly connects: number
  readonly published: number
  readonly acked: number
  /** The time from publishing a message to its PUBACK. */
  readonly p50_ms: number
  readonly p99_ms: number
  readonly max_ms: number
  readonly commands: Readonly<Record<string, number>>
  readonly ota: Readonly<Record<string, number>>
  readonly errors: Readonly<Record<string, number>>
  readonly expect: readonly JudgedExpectation[]
}

export interface JudgedExpectation extends Expectation {
  readonly actual: number
  readonly met: boolean
}

export function summaryOf(
  about: { readonly name: string; readonly seed: number; readonly elapsedMs: number },
  counts: Counts,
  latency: Histogram,
): Omit<Summary, 'expect'> {
  const { p50, p99, max } = latency.percentiles()
  const ms = (micros: number): number => Math.round(micros / 10) / 100
  const total = [...counts.errors.values()].reduce((sum, count) => sum + count, 0)
  return {
    ...{ name: about.name, seed: about.seed, duration_sec: Math.round(about.elapsedMs / 100) / 10 },
    ...{ devices: counts.devices, connected: counts.connected, connects: counts.connects },
    ...{ published: counts.published, acked: counts.acked },
    ...{ p50_ms: ms(p50), p99_ms: ms(p99), max_ms: ms(max) },
    commands: { ...counts.commands },
    ota: Object.fromEntries([...counts.ota].filter(([, count]) => count > 0).sort()),
    errors: { total, ...Object.fromEntries([...counts.errors].sort()) },
  }
}

/** A metric that was not counted is zero. */
export function judge(expectation: Expectation, summary: Omit<Summary, 'expect'>): JudgedExpectation {
  const found = expectation.metric
    .split('.')
    .reduce<unknown>((at, name) => Reflect.get(Object(at), name), summary)
  const actual = typeof found === 'number' ? found : 0
  return { ...expectation, actual, met: COMPARE[expectation.op](actual, expectation.value) }
}

const COMPARE: Readonly<Record<Expectation['op'], (actual: number, value: number) => boolean>> = {
  '==': (actual, value) => actual === value,
  '!=': (actual, value) => actual !== value,
  '<': (actual, value) => actual < value,
  '<=': (actual, value) => actual <= value,
  '>': (actual, value) => actual > value,
  '>=': (actual, value) => actual >= value,
}
