// The log that all nodes of a simulated cluster share. While a node's connection is cut, its append gets no answer, and the
// node does not know whether it was done.
import type { Micros } from '../../../schemas/ids.ts'
import type { Retention } from '../../adapters/log/lmdb/commits.ts'
import { MemoryLog } from '../../adapters/log/testing/memory.ts'
import { Fault } from '../../ports/fault.ts'
import type { Bundle, Log, LogReader } from '../../ports/log.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Dice } from '../dice.ts'
import type { Life, Link } from './links.ts'

const LOOK_MS = 100

export interface LogNode {
  readonly life: Life
  readonly cutLinks: ReadonlySet<Link>
  readonly schedule: Schedule
  readonly dice: Dice
}

export class SharedLog {
  #log: MemoryLog
  #turn: Promise<unknown> = Promise.resolve()
  readonly #appended: (bundles: readonly Bundle[]) => void

  /** `appended` is called as soon as the bundles are in the log. */
  constructor(retention: Partial<Retention>, appended: (bundles: readonly Bundle[]) => void) {
    this.#log = new MemoryLog(retention)
    this.#appended = appended
  }

  get now(): MemoryLog {
    return this.#log
  }

  /** Call this when all nodes are gone. The log forgets what they had settled. */
  startOver(): void {
    this.#log = this.#log.crash()
    this.#turn = Promise.resolve()
  }

  connect({ life, cutLinks, schedule, dice }: LogNode): Log {
    const log = this.#log
    const healed = async () => {
      while (cutLinks.has('log')) await schedule.sleep(LOOK_MS)
    }
    return {
      append: async (bundles, latestAt) => {
        // The connection breaks either before the request arrives or before the answer does.
        if (cutLinks.has('log') && dice.chance(0.5)) await healed()
        const work = this.#turn.then(() => this.#append(log, bundles, latestAt))
        this.#turn = work.catch(() => undefined)
        const answer = async () => {
          const seqs = await work
          await healed()
          return seqs
        }
        return life.hold(answer())
      },
      reader: (partitions, from) => {
        const reader = log.reader(partitions, from)
        const isCaughtUp = () => !cutLinks.has('log') && reader.isCaughtUp()
        const pull = async (bytesMax: number) => {
          const knewAll = isCaughtUp()
          await healed()
          return !knewAll && isCaughtUp() ? [] : reader.pull(bytesMax)
        }
        return {
          pull: (bytesMax) => life.hold(pull(bytesMax)),
          isCaughtUp,
          close: () => reader.close(),
        } satisfies LogReader
      },
      ends: () => log.ends(),
      readEnds: async () => {
        if (cutLinks.has('log')) throw unavailable()
        return life.hold(log.readEnds())
      },
      latestAt: () => log.latestAt(),
      size: () => log.size(),
      trim: async (upTo) => {
        if (cutLinks.has('log')) throw unavailable()
        await life.hold(log.trim(upTo))
      },
      close: async () => {},
    }
  }

  #append(log: MemoryLog, bundles: readonly Bundle[], latestAt: Micros): Promise<readonly number[]> {
    const before = log.ends()
    const work = log.append(bundles, latestAt)
    if (log.ends() !== before) this.#appended(bundles)
    return work
  }
}

function unavailable(): Fault {
  return new Fault('LOG_UNAVAILABLE', { retryable: true })
}
