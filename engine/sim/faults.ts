// Faults that follow from the seed. Ports delay, fail, or do the work and lose the answer. The process may die at any call
// of a port, before or after the work is done.

import type { Broker } from '../ports/broker.ts'
import { Fault, type FaultCode } from '../ports/fault.ts'
import type { Log, LogReader } from '../ports/log.ts'
import type { Schedule } from '../ports/schedule.ts'
import type { Store } from '../ports/store.ts'
import type { Block, Telemetry } from '../ports/telemetry.ts'
import type { Dice } from './dice.ts'
import type { Ledger } from './ledger.ts'
import type { SimTelemetry } from './telemetry.ts'

/** Probabilities of faults. They are drawn once per seed, so that each run has other kinds of faults. */
export interface Luck {
  readonly appendFails: number
  readonly readFails: number
  readonly saveFails: number
  readonly insertFails: number
  readonly shardDies: number
  readonly shardHangs: number
  readonly poison: number
  /** The process is killed between two steps of the world. */
  readonly crashes: number
  /** The process dies at a call of a port. */
  readonly dies: number
  readonly stops: number
  readonly pauses: number
  readonly clockSets: number
  readonly outages: number
  /** The receiver of alerts fails, or takes a message and its answer is lost. */
  readonly receiverFails: number
  /** A disconnected device connects again. */
  readonly returns: number
  readonly delayMsMax: number
  /** Limits how much one read from the log returns. */
  readonly readBytesMax: number
}

export const CALM: Luck = {
  appendFails: 0,
  readFails: 0,
  saveFails: 0,
  insertFails: 0,
  shardDies: 0,
  shardHangs: 0,
  poison: 0,
  crashes: 0,
  dies: 0,
  stops: 0,
  pauses: 0,
  clockSets: 0,
  outages: 0,
  receiverFails: 0,
  returns: 1,
  delayMsMax: 0,
  readBytesMax: Number.POSITIVE_INFINITY,
}

export function drawLuck(dice: Dice): Luck {
  const now = (probability: number) => (dice.chance(0.5) ? probability : 0)
  return {
    appendFails: now(0.02),
    readFails: now(0.02),
    saveFails: now(0.1),
    insertFails: now(0.2),
    shardDies: now(0.01),
    shardHangs: now(0.0005),
    poison: now(0.01),
    crashes: now(0.01),
    dies: now(0.001),
    stops: now(0.005),
    pauses: now(0.003),
    clockSets: now(0.01),
    outages: dice.pick([0, 0.02, 0.1]),
    receiverFails: dice.pick([0, 0.2, 0.6]),
    returns: dice.pick([0.01, 0.1]),
    delayMsMax: dice.pick([0, 5, 50, 400]),
    readBytesMax: dice.pick([1, 300, 3_000, Number.POSITIVE_INFINITY]),
  }
}

/** Before and after each step of a batch (R4) the process may die. */
export const BATCH_STEPS = [
  'before a task',
  'after a task',
  'before save',
  'after save',
  'before a cut',
  'before a send',
  'after a send',
  'before it tells',
  'after it told',
] as const

/** A step at which the process certainly dies, once in the run. Without it, rare steps would hardly ever be hit. */
export interface Doom {
  readonly where: (typeof BATCH_STEPS)[number] | undefined
  /** The process dies when the step has occurred this many more times. */
  left: number
}

export function drawDoom(dice: Dice): Doom {
  // A cut is rare, so it is drawn more often.
  const steps = [...BATCH_STEPS, 'before a cut', 'before a cut'] as const
  const where = dice.chance(0.6) ? dice.pick(steps) : undefined
  return { where, left: where === 'before a cut' ? 1 : dice.pick([1, 5, 25]) }
}

export interface FaultContext {
  readonly dice: Dice
  /** Called each time, because there are no faults at the end of a run. */
  readonly luck: () => Luck
  readonly doom: Doom
  readonly schedule: Schedule
  readonly trace: (line: string) => void
  /** Ends the process at once. */
  readonly die: (where: string) => void
  /** True once the process has ended. Anything that its code still does has no effect. */
  readonly isOver: () => boolean
}

/** Resolves with the answer, or never if the process is dead or dies here. */
export function mayDie<T>(context: FaultContext, where: string, answer: T): T | Promise<never> {
  return isDead(context, where) ? new Promise(() => undefined) : answer
}

/** True if the process is dead already or dies here. */
export function isDead({ dice, luck, doom, die, isOver }: FaultContext, where: string): boolean {
  if (isOver()) return true
  const isDoomed = where === doom.where && luck() !== CALM && --doom.left === 0
  if (!isDoomed && !dice.chance(luck().dies)) return false
  die(where)
  return true
}

/** Does the work, but may fail or die before or after it. The caller cannot know which, and must not need to. */
async function unlucky<T>(
  context: FaultContext,
  [which, code, where]: readonly [keyof Luck, FaultCode, string],
  work: () => Promise<T>,
): Promise<T> {
  const { dice, schedule, trace, luck } = context
  await mayDie(context, `before ${where}`, undefined)
  const { delayMsMax } = luck()
  if (delayMsMax > 0) await schedule.sleep(dice.between(0, delayMsMax))
  const isUnlucky = dice.chance(luck()[which])
  if (isUnlucky && dice.chance(0.5)) {
    trace(`fault ${code} before`)
    throw new Fault(code, { retryable: true })
  }
  const result = await work()
  if (!isUnlucky) return mayDie(context, `after ${where}`, result)
  trace(`fault ${code} after`)
  throw new Fault(code, { retryable: true })
}

/** Returns the port with some of its members replaced. The originals may be methods of a class with private fields. */
export function withReplaced<Port extends object>(port: Port, replaced: Partial<Port>): Port {
  return new Proxy(port, {
    get(target, name) {
      if (Object.hasOwn(replaced, name)) return Reflect.get(replaced, name)
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** A failed append has not happened, as the port promises. */
export function faultyLog(log: Log, context: FaultContext, ledger: Ledger): Log {
  const { dice, luck, schedule, trace } = context
  return withReplaced(log, {
    append: async (bundles, latestAt) => {
      await mayDie(context, 'before append', undefined)
      const { delayMsMax, appendFails } = luck()
      if (delayMsMax > 0) await schedule.sleep(dice.between(0, delayMsMax))
      if (dice.chance(appendFails)) {
        trace('fault LOG_FULL')
        throw new Fault('LOG_FULL', { retryable: true })
      }
      const before = log.ends()
      const appended = log.append(bundles, latestAt)
      if (log.ends() !== before) ledger.appended(bundles)
      return mayDie(context, 'after append', await appended)
    },
    reader: (partitions, from) => faultyReader(log.reader(partitions, from), context),
  })
}

function faultyReader(reader: LogReader, { dice, luck, trace }: FaultContext): LogReader {
  return withReplaced(reader, {
    pull: async (bytesMax) => {
      if (dice.chance(luck().readFails)) {
        trace('fault LOG_UNAVAILABLE')
        throw new Fault('LOG_UNAVAILABLE', { retryable: true })
      }
      return reader.pull(Math.min(bytesMax, luck().readBytesMax))
    },
  })
}

export function faultyStore(store: Store, context: FaultContext, ledger: Ledger): Store {
  const named = (where: string) => ['saveFails', 'STORE_UNAVAILABLE', where] as const
  return withReplaced(store, {
    claim: (claims) => unlucky(context, named('claim'), () => store.claim(claims)),
    save: (save) =>
      unlucky(context, named('save'), async () => {
        const wrong = ledger.saving(store, save)
        await store.save(save)
        ledger.saved(save, wrong)
      }),
    checkpoint: (checkpoint) =>
      unlucky(context, named('checkpoint'), async () => {
        const wrong = ledger.checkpointing(store, checkpoint)
        await store.checkpoint(checkpoint)
        ledger.checkpointed(wrong)
      }),
    clearLate: (hours, claims) => unlucky(context, named('clearLate'), () => store.clearLate(hours, claims)),
    clearHistory: (keys) => unlucky(context, named('clearHistory'), () => store.clearHistory(keys)),
    putFact: (name, value, claims) =>
      unlucky(context, named('putFact'), () => store.putFact(name, value, claims)),
  })
}

/** The messages of a batch are sent one by one, and the process may die between any two of them. */
export function faultyBroker(broker: Broker, context: FaultContext): Broker {
  return withReplaced(broker, {
    publish: async (downlink) => {
      await mayDie(context, 'before a send', undefined)
      return mayDie(context, 'after a send', broker.publish(downlink))
    },
    cut: (deviceId, cause) => {
      if (!isDead(context, 'before a cut')) broker.cut(deviceId, cause)
    },
    end: (deviceId) => {
      if (!isDead(context, 'before an end')) broker.end(deviceId)
    },
  })
}

export function faultyTelemetry(
  telemetry: SimTelemetry,
  context: FaultContext,
  isUp: () => boolean,
): Telemetry {
  const named = (where: string) => ['insertFails', 'TELEMETRY_UNAVAILABLE', where] as const
  const up = () => {
    if (!isUp()) throw new Fault('TELEMETRY_UNAVAILABLE', { retryable: true })
  }
  return withReplaced<Telemetry>(telemetry, {
    insert: (block: Block) =>
      unlucky(context, named('insert'), () => {
        up()
        return telemetry.insert(block)
      }),
    settle: async (upTo, late) => {
      up()
      // Rows that are inserted from now on are not included.
      const publish = telemetry.compute(upTo, late)
      await unlucky(context, named('settle'), async () => publish())
    },
    forget: async (deviceIds) => {
      up()
      await telemetry.forget(deviceIds)
    },
    isUp,
    close: async () => {},
  })
}
