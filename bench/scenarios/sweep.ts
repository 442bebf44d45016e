// Times the sweep of a shard that holds 50 000 devices with a deadline each, without a service around it.

import { register } from '../../engine/domain/device/transition.ts'
import { userAuthor } from '../../engine/domain/shadow/record.ts'
import { Histogram } from '../../engine/edge/histogram.ts'
import { newProgress } from '../../engine/runtime/shard/progress.ts'
import type { WorkTask } from '../../engine/runtime/shard/protocol.ts'
import { Shard } from '../../engine/runtime/shard/shard.ts'
import { Micros, Millis, Partition, parseDeviceId } from '../../schemas/ids.ts'
import { deviceIds } from '../load/session.ts'
import { ticks } from '../measure/deadline.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Scenario } from '../scenario.ts'

const DEVICES = 50_000
const HEARTBEAT_TIMEOUT_MS = 60_000
const WARM_UP_SWEEPS = 100
const START = Millis(Date.UTC(2026, 0, 5, 10))

const NOTHING: WorkTask = {
  kind: 'work',
  settle: true,
  entries: [],
  rows: true,
  asks: [],
  sweep: undefined,
  forgiveAt: undefined,
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
    const sweepAt = (now: Millis): number =>
      shard.work({ ...NOTHING, sweep: now, now }).proposal.changed.length
    const latency = new Histogram()
    const noise = new NoiseMeter()
    let totalMs = 0
    const sweeps = bench.quick ? 500 : 5_000
    for (let k = -WARM_UP_SWEEPS; k < sweeps; k++) {
      const startedAt = ticks()
      const changed = sweepAt(Millis(START + 1_000))
      const tookMs = ticks() - startedAt
      if (k >= 0) {
        latency.record(tookMs * 1000)
        totalMs += tookMs
      }
      if (changed > 0) throw new Error(`${changed} devices were due too early`)
    }
    const startedAt = ticks()
    const silent = sweepAt(Millis(START + HEARTBEAT_TIMEOUT_MS))
    const allDueMs = ticks() - startedAt
    if (silent !== DEVICES) throw new Error(`${silent} devices were found silent, not ${DEVICES}`)
    const { p50, p99, max } = latency.percentiles()
    bench.add(
      {
        scenario: `sweep of ${toDigits(DEVICES)} deadlines`,
        name: 'mean, none due',
        value: totalMs / sweeps,
        unit: 'ms',
        target: { kind: 'at_most', value: 1 },
        note: `p50 ${toDigits(p50 / 1000)}, p99 ${toDigits(p99 / 1000)}, max ${toDigits(max / 1000)} ms of ${toDigits(sweeps)}; all devices in one shard, in this process${noise.note()}`,
      },
      {
        scenario: `sweep of ${toDigits(DEVICES)} deadlines`,
        name: 'all due at once',
        value: allDueMs,
        unit: 'ms',
        note: 'measured once: every device is found silent, and status, event and history are decided; without saving',
      },
    )
  },
}

function loadedShard(): Shard {
  const partition = Partition(0)
  const settings = {
    partitions: [partition],
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
  shard.run({ kind: 'load', devices, applied: [], now: START })
  return shard
}
