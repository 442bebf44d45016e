// The world's bad luck: ports that delay, fail and lose what they did, as the seed says. Between two calls anything
// may also die; see world.ts.
import { Fault, type FaultCode } from '../ports/fault.ts'
import type { Log } from '../ports/log.ts'
import type { Store } from '../ports/store.ts'
import type { Block, Telemetry } from '../ports/telemetry.ts'
import type { Schedule } from '../runtime/schedule.ts'
import type { ShardThread } from '../runtime/thread.ts'
import type { Dice } from './dice.ts'

/** How bad it gets; drawn once per seed, so that some runs are calm in one respect and wild in another. */
export interface Luck {
  readonly appendFails: number
  readonly saveFails: number
  readonly insertFails: number
  readonly shardDies: number
  readonly crashes: number
  readonly pauses: number
  readonly delayMsMax: number
}

export function drawLuck(dice: Dice): Luck {
  const now = (probability: number) => (dice.chance(0.5) ? probability : 0)
  return {
    appendFails: now(0.02),
    saveFails: now(0.1),
    insertFails: now(0.2),
    shardDies: now(0.01),
    crashes: now(0.01),
    pauses: now(0.003),
    delayMsMax: dice.pick([0, 5, 50, 400]),
  }
}

export interface FaultContext {
  readonly dice: Dice
  /** Asked at each call: the end of a run is calm. */
  readonly luck: () => Luck
  readonly schedule: Schedule
  readonly trace: (line: string) => void
}

/** Both before the work is done and after: the caller cannot tell, and must not need to. */
async function unlucky<T>(
  context: FaultContext,
  [which, code]: readonly [keyof Luck, FaultCode],
  work: () => Promise<T>,
): Promise<T> {
  const { dice, schedule, trace } = context
  const { delayMsMax } = context.luck()
  if (delayMsMax > 0) await schedule.sleep(dice.between(0, delayMsMax))
  const isUnlucky = dice.chance(context.luck()[which])
  if (isUnlucky && dice.chance(0.5)) {
    trace(`fault ${code} before`)
    throw new Fault(code, { retryable: true })
  }
  const result = await work()
  if (!isUnlucky) return result
  trace(`fault ${code} after`)
  throw new Fault(code, { retryable: true })
}

/** An append that fails did not happen: the log's promise, kept by its adapter. */
export function faultyLog(log: Log, context: FaultContext): Log {
  const { dice, luck, schedule, trace } = context
  return {
    append: async (bundles, latestAt) => {
      const { delayMsMax, appendFails } = luck()
      if (delayMsMax > 0) await schedule.sleep(dice.between(0, delayMsMax))
      if (dice.chance(appendFails)) {
        trace('fault LOG_FULL')
        throw new Fault('LOG_FULL', { retryable: true })
      }
      return log.append(bundles, latestAt)
    },
    reader: (partitions, from) => log.reader(partitions, from),
    ends: () => log.ends(),
    latestAt: () => log.latestAt(),
    trim: (upTo) => log.trim(upTo),
    close: () => log.close(),
  }
}

export function faultyStore(store: Store, context: FaultContext): Store {
  const saves = ['saveFails', 'STORE_UNAVAILABLE'] as const
  return {
    load: (partitions) => store.load(partitions),
    applied: () => store.applied(),
    inserted: () => store.inserted(),
    save: (save) => unlucky(context, saves, () => store.save(save)),
    checkpoint: (checkpoint) => unlucky(context, saves, () => store.checkpoint(checkpoint)),
    get: (id) => store.get(id),
    summary: (id) => store.summary(id),
    list: (filter, page) => store.list(filter, page),
    countByStatus: () => store.countByStatus(),
    deadLetters: (page) => store.deadLetters(page),
    lateHours: () => store.lateHours(),
    clearLate: (hours) => unlucky(context, saves, () => store.clearLate(hours)),
    outbox: (bounds) => store.outbox(bounds),
    clearHistory: (keys) => unlucky(context, saves, () => store.clearHistory(keys)),
    outboxCounts: () => store.outboxCounts(),
    getFact: (name) => store.getFact(name),
    putFact: (name, value) => store.putFact(name, value),
    close: () => store.close(),
  }
}

export function faultyTelemetry(
  telemetry: Telemetry,
  context: FaultContext,
  watch: { readonly isUp: () => boolean; readonly inserted: (block: Block) => void },
): Telemetry {
  const inserts = ['insertFails', 'TELEMETRY_UNAVAILABLE'] as const
  const up = () => {
    if (!watch.isUp()) throw new Fault('TELEMETRY_UNAVAILABLE', { retryable: true })
  }
  return {
    insert: (block) =>
      unlucky(context, inserts, async () => {
        up()
        await telemetry.insert(block)
        watch.inserted(block)
      }),
    buckets: (query) => telemetry.buckets(query),
    horizon: () => telemetry.horizon(),
    settle: (upTo, late) =>
      unlucky(context, inserts, async () => {
        up()
        await telemetry.settle(upTo, late)
      }),
    countPoints: (deviceId) => telemetry.countPoints(deviceId),
    newest: (deviceId) => telemetry.newest(deviceId),
    history: (query) => telemetry.history(query),
    countHistory: (filter) => telemetry.countHistory(filter),
    isUp: watch.isUp,
    close: async () => {},
  }
}

/** A thread that dies before it did its task, or after, when nobody hears the result. */
export function faultyThread(thread: ShardThread, context: FaultContext): ShardThread {
  const { dice, luck, trace } = context
  return {
    async run(task) {
      const isUnlucky = task.kind === 'work' && dice.chance(luck().shardDies)
      if (isUnlucky && dice.chance(0.5)) {
        trace('shard dies before')
        throw new Fault('SHARD_LOST', { retryable: true })
      }
      const result = await thread.run(task)
      if (!isUnlucky) return result
      trace('shard dies after')
      throw new Fault('SHARD_LOST', { retryable: true })
    },
    close: () => thread.close(),
  }
}
