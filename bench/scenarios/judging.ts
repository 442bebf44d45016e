// Measures what alert rules cost a shard while no alert changes: time per message, memory per device and rule, and the
// sweep of timers. Everything runs in this process, without a service.
import { PerformanceObserver } from 'node:perf_hooks'
import { createRule, type Rule } from '../../engine/domain/alert/rule.ts'
import { RuleBook } from '../../engine/domain/alert/rule-book.ts'
import type { Watch } from '../../engine/domain/alert/watch.ts'
import { restoreWatch } from '../../engine/domain/alert/watch-memory.ts'
import { register } from '../../engine/domain/device/transition.ts'
import { userAuthor } from '../../engine/domain/shadow/record.ts'
import { Columns } from '../../engine/domain/telemetry/columns.ts'
import { Latest } from '../../engine/domain/telemetry/latest.ts'
import { report } from '../../engine/domain/telemetry/report.ts'
import type { Shape } from '../../engine/domain/telemetry/shape.ts'
import { exposedGc } from '../../engine/runtime/garbage.ts'
import type { RuleRequestBody } from '../../schemas/alert-rule.ts'
import { type DeviceId, Micros, Millis } from '../../schemas/ids.ts'
import { METRICS, makePayloads } from '../load/payloads.ts'
import { ownMicros } from '../measure/cpu.ts'
import { sleep } from '../measure/deadline.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench } from '../scenario.ts'
import { DEVICES, loadedShard, START, sweepAt, timeSweeps, toHolds } from './sweep.ts'

const WATCHED = 1_000
const ROUNDS = 7
/** [contract 5.8] Nanoseconds per message, by the number of rules on eight metrics. */
const COSTS = [
  { rules: 10, nanos: 350 },
  { rules: 50, nanos: 1_500 },
] as const
/** [contract 5.8] */
const NO_RULE_NANOS_MAX = 10
const BYTES_MAX = 64
const SWEEP_MS_MAX = 1
const HOUR_SEC = 3_600
const NAME = 'alert rules, nothing moves'
const EVERYBODY = { type: 'all' } as const
/** A device that has reported nothing yet. */
const UNHEARD = { receivedAt: 0, latestOf: () => undefined }

export async function judging(bench: Bench): Promise<void> {
  const messages = bench.quick ? 200_000 : 1_000_000
  const sent = sentMessage()
  const without = costOf({ watches: new Array<undefined>(WATCHED).fill(undefined), messages, sent })
  bench.add({
    scenario: NAME,
    name: 'no rule fits',
    value: without.nanos,
    unit: 'ns/message',
    target: { kind: 'at_most', value: NO_RULE_NANOS_MAX },
    note: `best of ${ROUNDS} rounds of ${toDigits(messages)} messages, the loop around it included${without.noise}`,
  })
  for (const { rules, nanos } of COSTS) {
    const { watches, bytes } = watchesOf(thresholds(rules))
    const cost = costOf({ watches, messages, sent })
    const collections = await countCollections(() => judgeMessages({ watches, messages, sent }))
    bench.add(
      {
        scenario: NAME,
        name: `${rules} rules`,
        value: cost.nanos,
        unit: 'ns/message',
        target: { kind: 'at_most', value: nanos },
        note:
          `thresholds spread over the eight numbers of a message, ${toDigits(WATCHED)} devices in turn; garbage ` +
          `collections during ${toDigits(messages)} messages: ${collections}${cost.noise}`,
      },
      {
        scenario: NAME,
        name: `memory, ${rules} rules`,
        value: bytes,
        unit: 'bytes per device and rule',
        target: { kind: 'at_most', value: BYTES_MAX },
        note: 'heap of rules that are judged and inactive, after a collection',
      },
    )
  }
  timers(bench)
}

/** Rules with thresholds that no value reaches, cycling through the metrics. */
export function thresholds(count: number): readonly RuleRequestBody[] {
  return Array.from({ length: count }, (_, i) => ({
    name: `rule ${i}`,
    target: EVERYBODY,
    condition: {
      kind: 'threshold',
      // The remainder is a valid index.
      metric: METRICS[i % METRICS.length] as string,
      ...(i % 2 === 0 ? { op: '>', value: 1_000 + i, clear_value: 900 } : { op: '<', value: -1_000 - i }),
    },
  }))
}

function ruled(wishes: readonly RuleRequestBody[]): readonly Rule[] {
  return wishes.map((wish, i) => {
    const made = createRule(wish, { id: `rul_${i}`, by: 'usr_bench', now: START })
    if (made.kind === 'mistakes') throw new Error(JSON.stringify(made.errors))
    return made.rule
  })
}

interface SentMessage {
  readonly shape: Shape
  readonly columns: Columns
}

function sentMessage(): SentMessage {
  const [payload = Buffer.from('{}')] = makePayloads(1)
  const columns = new Columns()
  // A valid device id.
  const deviceId = 'bench-0' as DeviceId
  const about = { deviceId, name: undefined, receivedAt: Micros(START * 1_000), version: 1 }
  const reported = report(payload, about, new Latest(), columns)
  if (reported.kind !== 'stored' || reported.shape === undefined)
    throw new Error('the payload of the load has no shape')
  return { shape: reported.shape, columns }
}

function watchesOf(wishes: readonly RuleRequestBody[]): {
  readonly watches: readonly Watch[]
  readonly bytes: number
} {
  const book = new RuleBook({ revision: 1, rules: ruled(wishes), silences: [] })
  const device = register(
    // A valid device id.
    'bench-0' as DeviceId,
    { kind: 'register', name: 'bench', type: 'mqtt_device' },
    userAuthor('bench'),
    START,
  ).device
  const { fit } = book.fitFor(device)
  if (fit === undefined) throw new Error('the rules fit no device')
  const collect = exposedGc()
  collect()
  const before = process.memoryUsage().heapUsed
  const watches = Array.from({ length: WATCHED }, () => restoreWatch(fit, undefined, UNHEARD))
  collect()
  const bytes = (process.memoryUsage().heapUsed - before) / WATCHED / wishes.length
  return { watches, bytes }
}

interface JudgingRun {
  readonly watches: readonly (Watch | undefined)[]
  readonly messages: number
  readonly sent: SentMessage
}

function costOf(judged: JudgingRun): { readonly nanos: number; readonly noise: string } {
  const noise = new NoiseMeter()
  // In the first round each rule learns that its metric is known, which is not part of the cost.
  judgeMessages(judged)
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    let flagged = 0
    const micros = ownMicros(() => {
      flagged = judgeMessages(judged)
    })
    least = Math.min(least, (micros * 1_000) / judged.messages)
    if (flagged > 0) throw new Error(`${flagged} messages moved something`)
  }
  return { nanos: least, noise: noise.note() }
}

/** Microseconds. Every message is newer than the previous one. */
let lastAt = START * 1_000

/** Returns the number of messages that flagged a rule. */
function judgeMessages({ watches, messages, sent: { shape, columns } }: JudgingRun): number {
  const { slotValues } = columns.shapes
  // Assigning to a module variable would allocate a number for each message, so this uses a local one.
  let at = lastAt
  let flagged = 0
  for (let i = 0; i < messages; i++) {
    at++
    const watch = watches[i % WATCHED]
    if (watch === undefined) continue
    slotValues.numbers[i & 7] = i % 97
    if (watch.feedShape(shape, slotValues, at, at)) {
      watch.takeFlagged()
      flagged++
    }
  }
  lastAt = at
  return flagged
}

async function countCollections(work: () => unknown): Promise<number> {
  let collections = 0
  const observer = new PerformanceObserver((list) => {
    collections += list.getEntries().length
  })
  observer.observe({ entryTypes: ['gc'] })
  work()
  // The observer gets its entries in a later turn of the event loop.
  await sleep(50)
  observer.disconnect()
  return collections
}

/** Measures sweeps while every device has an alert that is pending for an hour. */
function timers(bench: Bench): void {
  const pending: RuleRequestBody = {
    name: 'online for long',
    target: EVERYBODY,
    condition: { kind: 'state', in: ['online'] },
    for_sec: HOUR_SEC,
  }
  const fired: RuleRequestBody = { ...pending, name: 'online', for_sec: 30 }
  const rules = ruled([pending, fired])
  const shard = loadedShard({ revision: 1, rules, silences: [] })
  const judged = sweepAt(shard, Millis(START + 1_000))
  const idle = timeSweeps(shard, { count: bench.quick ? 500 : 5_000, at: Millis(START + 2_000) })
  const due = sweepAt(shard, Millis(START + 31_000))
  if (due.notices !== DEVICES) throw new Error(`${due.notices} alerts fired, not ${DEVICES}`)
  const scenario = `timers of ${toDigits(2 * DEVICES)} pending alerts`
  bench.add(
    {
      scenario,
      name: 'sweep, none due',
      value: idle.meanMs,
      unit: 'ms',
      target: { kind: 'at_most', value: SWEEP_MS_MAX },
      note: `${idle.note}; ${toDigits(DEVICES)} devices with two rules each, in one shard`,
    },
    {
      scenario,
      name: 'sweep, all fire',
      value: due.totalMs,
      unit: 'ms',
      note:
        `measured once: ${toDigits(DEVICES)} alerts with notice and history; ${toHolds(due)}; judging all anew after ` +
        `a new rule took ${toDigits(judged.totalMs)} ms`,
    },
  )
}
