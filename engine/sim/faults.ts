// Faults by seed: ports that delay, fail, and lose the answer to what they did, and a process that dies at any of these
// calls, before or after the work is done.

import type { Broker } from '../ports/broker.ts'
import { Fault, type FaultCode } from '../ports/fault.ts'
import type { Log, LogReader } from '../ports/log.ts'
import type { Schedule } from '../ports/schedule.ts'
import type { Store } from '../ports/store.ts'
import type { Block, Telemetry } from '../ports/telemetry.ts'
import type { Dice } from './dice.ts'
import type { Ledger } from './ledger.ts'
import type { SimTelemetry } from './telemetry.ts'

/** Probabilities of the faults, drawn once per seed, so that a run may be calm in one respect and wild in another. */
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
  /** The receiver of alerts fails, or takes a message and fails to say so. */
  readonly receiverFails: number
  /** A device that is gone comes back. */
  readonly returns: number
  readonly delayMsMax: number
  /** Bound on the bytes of one read from the log. */
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

/** Places where the process may die on the way of a batch: before and after each step of R4. */
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

/** The step at which the process certainly dies once in a run, at its nth occurrence. Chance alone rarely hits the rare
 *  ones. */
export interface Doom {
  readonly where: (typeof BATCH_STEPS)[number] | undefined
  left: number
}

export function drawDoom(dice: Dice): Doom {
  // Few devices are ever cut off.
  const steps = [...BATCH_STEPS, 'before a cut', 'before a cut'] as const
  const where = dice.chance(0.6) ? dice.pick(steps) : undefined
  return { where, left: where === 'before a cut' ? 1 : dice.pick([1, 5, 25]) }
}

export interface FaultContext {
  readonly dice: Dice
  /** Evaluated at each call, because the end of a run is calm. */
  readonly luck: () => Luck
  readonly doom: Doom
  readonly schedule: Schedule
  readonly trace: (line: string) => void
  /** Ends the process at once. */
  readonly die: (where: string) => void
  /** True once the process has ended. What it still does reaches nobody. */
  readonly isOver: () => boolean
}

/** A dead process gets no answers. */
export function mayDie<T>(context: FaultContext, where: string, answer: T): T | Promise<never> {
  return isDead(context, where) ? new Promise(() => undefined) : answer
}

/** True if the process was dead before, or dies here. */
export function isDead({ dice, luck, doom, die, isOver }: FaultContext, where: string): boolean {
  if (isOver()) return true
  const isDoomed = where === doom.where && luck() !== CALM && --doom.left === 0
  if (!isDoomed && !dice.chance(luck().dies)) return false
  die(where)
  return true
}

/** Fails or dies before the work is done or after it, which the caller cannot tell and must not need to. */
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

/** An append that fails has not happened, as the port promises. */
export function faultyLog(log: Log, context: FaultContext, ledger: Ledger): Log {
  const { dice, luck, schedule, trace } = context
  return {
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
    ends: () => log.ends(),
    look: () => log.look(),
    latestAt: () => log.latestAt(),
    size: () => log.size(),
    trim: (upTo) => log.trim(upTo),
    close: () => log.close(),
  }
}

function faultyReader(reader: LogReader, { dice, luck, trace }: FaultContext): LogReader {
  return {
    pull: async (bytesMax) => {
      if (dice.chance(luck().readFails)) {
        trace('fault LOG_UNAVAILABLE')
        throw new Fault('LOG_UNAVAILABLE', { retryable: true })
      }
      return reader.pull(Math.min(bytesMax, luck().readBytesMax))
    },
    isCaughtUp: () => reader.isCaughtUp(),
    close: () => reader.close(),
  }
}

export function faultyStore(store: Store, context: FaultContext, ledger: Ledger): Store {
  const named = (where: string) => ['saveFails', 'STORE_UNAVAILABLE', where] as const
  return {
    isUp: () => store.isUp(),
    claim: (claims) => unlucky(context, named('claim'), () => store.claim(claims)),
    load: (partitions) => store.load(partitions),
    applied: () => store.applied(),
    inserted: () => store.inserted(),
    epochs: () => store.epochs(),
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
    devices: store.devices,
    documents: store.documents,
    writer: store.writer,
    deadLetters: (query) => store.deadLetters(query),
    deadLetter: (id) => store.deadLetter(id),
    deadLetterReasons: (filter) => store.deadLetterReasons(filter),
    lateHours: () => store.lateHours(),
    lateHoursOf: (deviceId) => store.lateHoursOf(deviceId),
    clearLate: (hours, claims) => unlucky(context, named('clearLate'), () => store.clearLate(hours, claims)),
    outbox: (bounds) => store.outbox(bounds),
    clearHistory: (keys) => unlucky(context, named('clearHistory'), () => store.clearHistory(keys)),
    oldestHistory: () => store.oldestHistory(),
    outboxCounts: () => store.outboxCounts(),
    notices: (max) => store.notices(max),
    noticeCounts: () => store.noticeCounts(),
    getFact: (name) => store.getFact(name),
    putFact: (name, value, claims) =>
      unlucky(context, named('putFact'), () => store.putFact(name, value, claims)),
    close: () => store.close(),
  }
}

/** The messages of a batch are sent one by one, and the process may die between any two. */
export function faultyBroker(broker: Broker, context: FaultContext): Broker {
  return {
    listen: (host) => broker.listen(host),
    publish: async (downlink) => {
      await mayDie(context, 'before a send', undefined)
      return mayDie(context, 'after a send', broker.publish(downlink))
    },
    publishToGroup: (group, message) => broker.publishToGroup(group, message),
    free: (deviceId) => broker.free(deviceId),
    cut: (deviceId, cause) => {
      if (!isDead(context, 'before a cut')) broker.cut(deviceId, cause)
    },
    end: (deviceId) => {
      if (!isDead(context, 'before an end')) broker.end(deviceId)
    },
    isConnected: (deviceId) => broker.isConnected(deviceId),
    counts: () => broker.counts(),
    close: () => broker.close(),
  }
}

export function faultyTelemetry(
  telemetry: SimTelemetry,
  context: FaultContext,
  watch: { readonly isUp: () => boolean },
): Telemetry {
  const named = (where: string) => ['insertFails', 'TELEMETRY_UNAVAILABLE', where] as const
  const up = () => {
    if (!watch.isUp()) throw new Fault('TELEMETRY_UNAVAILABLE', { retryable: true })
  }
  return {
    insert: (block: Block) =>
      unlucky(context, named('insert'), () => {
        up()
        return telemetry.insert(block)
      }),
    series: (query) => telemetry.series(query),
    points: (query) => telemetry.points(query),
    trend: (query) => telemetry.trend(query),
    export: (what) => telemetry.export(what),
    horizon: () => telemetry.horizon(),
    settle: async (upTo, late) => {
      up()
      // The result does not include rows inserted from here on.
      const publish = telemetry.compute(upTo, late)
      await unlucky(context, named('settle'), async () => publish())
    },
    resettle: () => telemetry.resettle(),
    forget: async (deviceIds) => {
      up()
      await telemetry.forget(deviceIds)
    },
    countPoints: (deviceId) => telemetry.countPoints(deviceId),
    history: (query) => telemetry.history(query),
    fleetHistory: (query) => telemetry.fleetHistory(query),
    pastCommands: (query) => telemetry.pastCommands(query),
    pastAlerts: (query) => telemetry.pastAlerts(query),
    alertMoves: (deviceId, alertId) => telemetry.alertMoves(deviceId, alertId),
    commandSteps: (commands) => telemetry.commandSteps(commands),
    audit: (query) => telemetry.audit(query),
    countAudit: (filter) => telemetry.countAudit(filter),
    countHistory: (filter) => telemetry.countHistory(filter),
    isUp: watch.isUp,
    close: async () => {},
  }
}
