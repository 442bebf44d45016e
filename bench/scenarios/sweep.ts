// Measures the sweep of a shard that holds 50 000 devices with a deadline each, without a service around it.

import type { AlertSettings } from '../../engine/domain/alert/rule-book.ts'
import { register } from '../../engine/domain/device/transition.ts'
import { userAuthor } from '../../engine/domain/shadow/record.ts'
import { Histogram } from '../../engine/edge/histogram.ts'
import { LIMITS } from '../../engine/limits.ts'
import { newProgress } from '../../engine/runtime/shard/progress.ts'
import type { WorkTask } from '../../engine/runtime/shard/protocol.ts'
import { Shard } from '../../engine/runtime/shard/shard.ts'
import { Micros, Millis, Partition, parseDeviceId } from '../../schemas/ids.ts'
import { deviceIds } from '../load/session.ts'
import { ticks } from '../measure/deadline.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Scenario } from '../scenario.ts'

export const DEVICES = 50_000
const HEARTBEAT_TIMEOUT_MS = 60_000
const WARM_UP_SWEEPS = 100
export const START = Millis(Date.UTC(2026, 0, 5, 10))

const NOTHING: WorkTask = {
  kind: 'work',
  settle: true,
  entries: [],
  rows: true,
  asks: [],
  sweep: undefined,
  unsent: [],
  forgiveAt: undefined,
  leaps: [],
  horizon: Millis(0),
  wants: undefined,
  cut: 'due',
  vitals: false,
  now: START,
}

export const sweep: Scenario = {
  name: 'sweep',
  about: 'one sweep over the deadlines of 50 000 devices',
  async run(bench) {
    const shard = loadedShard()
    const idle = timeSweeps(shard, { count: bench.quick ? 500 : 5_000, at: Millis(START + 1_000) })
    const due = sweepAt(shard, Millis(START + HEARTBEAT_TIMEOUT_MS))
    if (due.changed !== DEVICES) throw new Error(`${due.changed} devices were found silent, not ${DEVICES}`)
    bench.add(
      {
        scenario: `sweep of ${toDigits(DEVICES)} deadlines`,
        name: 'mean, none due',
        value: idle.meanMs,
        unit: 'ms',
        target: { kind: 'at_most', value: 1 },
        note: `${idle.note}; all devices in one shard, in this process`,
      },
      {
        scenario: `sweep of ${toDigits(DEVICES)} deadlines`,
        name: 'all due at once',
        value: due.totalMs,
        unit: 'ms',
        note: `measured once: every device is found silent, and status, event and history are decided; without saving; ${toHolds(due)}`,
      },
    )
  },
}

interface Swept {
  readonly changed: number
  readonly history: number
  readonly notices: number
  readonly totalMs: number
  /** The duration of each task in microseconds, which is how long other work may have to wait. */
  readonly holds: Histogram
}

/** Runs a whole sweep, however many tasks it takes. */
export function sweepAt(shard: Shard, now: Millis): Swept {
  const holds = new Histogram()
  let [changed, history, notices, totalMs] = [0, 0, 0, 0]
  for (let sweep: WorkTask['sweep'] = now; sweep !== undefined; ) {
    const startedAt = ticks()
    const { proposal, isSweepCut } = shard.work({ ...NOTHING, sweep, now })
    const tookMs = ticks() - startedAt
    holds.record(tookMs * 1000)
    totalMs += tookMs
    changed += proposal.changed.length
    history += proposal.history.length
    notices += proposal.notices.length
    sweep = isSweepCut ? 'rest' : undefined
  }
  return { changed, history, notices, totalMs, holds }
}

/** Describes for how long at a time the shard was blocked. */
export function toHolds({ holds }: Pick<Swept, 'holds'>): string {
  const { p99, max } = holds.percentiles()
  return `the shard is held for ${toDigits(max / 1000)} ms at most (p99 ${toDigits(p99 / 1000)} ms)`
}

/** Times sweeps that find nothing to do. */
export function timeSweeps(
  shard: Shard,
  { count, at }: { readonly count: number; readonly at: Millis },
): { readonly meanMs: number; readonly note: string } {
  const latency = new Histogram()
  const noise = new NoiseMeter()
  let totalMs = 0
  for (let k = -WARM_UP_SWEEPS; k < count; k++) {
    const startedAt = ticks()
    const { changed, history } = sweepAt(shard, at)
    const tookMs = ticks() - startedAt
    if (k >= 0) {
      latency.record(tookMs * 1000)
      totalMs += tookMs
    }
    if (changed + history > 0) throw new Error('devices were due too early')
  }
  const { p50, p99, max } = latency.percentiles()
  const figures = `p50 ${toDigits(p50 / 1000)}, p99 ${toDigits(p99 / 1000)}, max ${toDigits(max / 1000)} ms`
  return { meanMs: totalMs / count, note: `${figures} of ${toDigits(count)}${noise.note()}` }
}

export function loadedShard(alertSettings?: AlertSettings): Shard {
  const settings = {
    partitions: Array.from({ length: LIMITS.partitions }, (_, at) => Partition(at)),
    heartbeatTimeoutMs: HEARTBEAT_TIMEOUT_MS,
    bootAt: Micros((START - 1_000) * 1000),
    incarnation: 'bench',
    progress: newProgress(),
  }
  const shard = new Shard(settings, ticks)
  const devices = deviceIds(DEVICES).map((text) => {
    const id = parseDeviceId(text)
    if (id === undefined) throw new Error(`not a device id: ${text}`)
    const { device } = register(
      id,
      { kind: 'register', name: text, type: 'mqtt_device' },
      userAuthor('bench'),
      START,
    )
    return {
      device: { ...device, status: 'online' as const },
      vitals: undefined,
      parts: {},
      commands: [],
    }
  })
  shard.run({ kind: 'load', devices, applied: [], now: START, ...(alertSettings && { alertSettings }) })
  return shard
}
