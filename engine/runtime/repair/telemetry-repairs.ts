// Repairs of ClickHouse. Only one runs in all processes, and the latest one wins. Its progress is a fact in the store, so
// any process can report it, and if its process died, the time in the fact stands still. Which repair is the latest is
// another fact, written only when one is started, so an earlier one that saves its progress at that moment replaces nothing.
//
// P1. Rollups are computed again only for hours that the log has in full: if raw data is missing for good, the rollups
//     computed while it was there must stay.
import { errorText } from '../../../schemas/error-text.ts'
import { Millis, Partition } from '../../../schemas/ids.ts'
import { unreachable } from '../../domain/unreachable.ts'
import { LIMITS } from '../../limits.ts'
import type { Ports } from '../../ports/engine.ts'
import type { Repair, Repairs } from '../../ports/repair.ts'
import { DeviceCopier } from '../fleet/device-copier.ts'
import type { EngineHost } from '../host.ts'
import { Inserter } from '../rows/inserter.ts'
import { PoisonMessages } from '../runner/poison-messages.ts'
import { shuttingDown } from '../shutting-down.ts'
import type { InsertSignal } from '../signals.ts'
import { RowReplay } from './row-replay.ts'

const LATEST = 'telemetry_repair'
const PROGRESS = 'telemetry_repair_progress'
const HOUR_MS = 3_600_000
const SAVE_EVERY_MS = 1_000
/** How often the same partitions are read. A message that kills its shard is left out after some readings. */
const READINGS_MAX = 10

export interface TelemetryRepairsOptions {
  readonly ports: Pick<Ports, 'clock' | 'log' | 'store' | 'telemetry'>
  readonly host: Pick<EngineHost, 'schedule' | 'openThread' | 'newId' | 'warn'>
}

export class TelemetryRepairs implements Repairs {
  readonly #options: TelemetryRepairsOptions
  readonly #running = new Set<{ readonly work: RunningRepair; readonly ended: Promise<void> }>()
  #isClosed = false

  constructor(options: TelemetryRepairsOptions) {
    this.#options = options
  }

  async start({ from = Millis(0), to }: Parameters<Repairs['start']>[0]): Promise<Repair> {
    const { ports, host } = this.#options
    if (this.#isClosed) throw shuttingDown()
    const now = ports.clock.now()
    // Receive times come from the broker's clock.
    const newest = Math.max(now, Math.ceil(ports.log.latestAt() / 1000))
    const repair: Repair = {
      id: host.newId(),
      status: 'running',
      from,
      to: Millis(Math.min(to ?? newest, newest)),
      startedAt: now,
      updatedAt: now,
      logFrom: undefined,
      messages: 0,
      rows: 0,
      progress: 0,
      rollups: undefined,
      detail: undefined,
    }
    await ports.store.putFact(LATEST, JSON.stringify(repair))
    // A repair holds a thread and devices. So however often one is begun, only few are running.
    const before = this.#stop()
    const work = new RunningRepair(repair, this.#options)
    const ended = before.then(() => work.run()).finally(() => this.#running.delete(running))
    const running = { work, ended }
    this.#running.add(running)
    return repair
  }

  latest(): Repair | undefined {
    return latestOf(this.#options.ports)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#stop()
  }

  /** Does not wait for a database that does not answer. */
  async #stop(): Promise<void> {
    const ended = [...this.#running].map(({ work, ended }) => {
      work.stop()
      return ended
    })
    await Promise.race([Promise.all(ended), this.#options.host.schedule.sleep(LIMITS.repairStopTimeoutMs)])
  }
}

function latestOf({ store }: TelemetryRepairsOptions['ports']): Repair | undefined {
  const read = (fact: string) => {
    const text = store.getFact(fact)
    // Written in this file.
    return text === undefined ? undefined : (JSON.parse(text) as Repair)
  }
  const latest = read(LATEST)
  const progress = read(PROGRESS)
  return progress?.id === latest?.id ? progress : latest
}

class RunningRepair {
  readonly #options: TelemetryRepairsOptions
  readonly #inserter: Inserter
  #repair: Repair
  #reading: RowReplay | undefined
  #isStopped = false
  #refused = 0
  #saving: Promise<void> = Promise.resolve()
  #savedAt: number

  constructor(repair: Repair, options: TelemetryRepairsOptions) {
    const { ports, host } = options
    this.#options = options
    this.#repair = repair
    this.#savedAt = ports.clock.ticks()
    this.#inserter = new Inserter({
      telemetry: ports.telemetry,
      schedule: host.schedule,
      ticks: () => ports.clock.ticks(),
      signal: (signal) => this.#onSignal(signal),
      // These messages became dead letters when they were first refused, or were discarded since.
      park: async () => {},
    })
  }

  #onSignal(signal: InsertSignal): void {
    const { warn } = this.#options.host
    const { rows } = signal.block
    switch (signal.kind) {
      case 'inserted':
        this.#update({ rows: this.#repair.rows + rows })
        break
      case 'insert_failed':
        warn('ClickHouse does not take rows of a repair, which waits until it does', { err: signal.fault })
        break
      case 'insert_refused':
        this.#refused += rows
        warn(
          'ClickHouse refused rows of a repair, and they are still missing: mend what the error names, and repair again',
          { rows, err: signal.fault },
        )
        break
      case 'messages_refused':
        this.#refused += signal.messages
        warn(
          'ClickHouse refused messages of a repair, and they are still missing: they are among the dead letters',
          {
            messages: signal.messages,
            err: signal.fault,
          },
        )
        break
      case 'parking_failed':
        break
      default:
        unreachable(signal)
    }
  }

  async run(): Promise<void> {
    try {
      await this.#rows()
      if (!this.#isStopped) await this.#rollups()
      if (!this.#isStopped) await this.#devices()
      if (this.#isStopped)
        await this.#end({ status: 'failed', detail: 'its process was stopped; start it again' })
      else if (this.#refused > 0)
        await this.#end({
          status: 'failed',
          detail: `ClickHouse refused ${this.#refused} rows or messages for good`,
        })
      else await this.#end({ status: 'done', progress: 1 })
    } catch (error) {
      this.#options.host.warn(
        'a repair of ClickHouse failed: mend what the error names, and start it again',
        { err: error },
      )
      await this.#end({ status: 'failed', detail: errorText(error) })
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#inserter.close()
    this.#reading?.stop()
  }

  /** Reads a few partitions at a time, because all their devices are in memory meanwhile. */
  async #rows(): Promise<void> {
    const { host, ports } = this.#options
    for (
      let first = 0;
      first < LIMITS.partitions && !this.#isStopped;
      first += LIMITS.repairPartitionsAtOnce
    ) {
      // The shard that owns the message has parked it. Here it is only left out.
      const poison = new PoisonMessages(ports.store, async () => {})
      for (let reading = 1, isRead = false; !isRead; reading++) {
        this.#reading = this.#newReading(first, { poison, reading })
        try {
          await this.#reading.run()
          isRead = true
        } catch (error) {
          if (reading === READINGS_MAX) throw error
          host.warn('a repair lost its shard, and reads the partitions again', { err: error })
        }
      }
    }
  }

  #newReading(
    first: number,
    { poison, reading }: { readonly poison: PoisonMessages; readonly reading: number },
  ): RowReplay {
    const { ports, host } = this.#options
    const { id, from, to } = this.#repair
    const share = LIMITS.repairPartitionsAtOnce / LIMITS.partitions
    let oldest: Millis | undefined
    return new RowReplay({
      ...ports,
      openThread: host.openThread,
      partitions: Array.from({ length: LIMITS.repairPartitionsAtOnce }, (_, i) => Partition(first + i)),
      from,
      to,
      poison,
      incarnation: `${id}-${first}-${reading}`,
      insert: (blocks) => this.#inserter.insert(blocks),
      read: (at) => {
        oldest ??= at
        const part = Math.min(1, Math.max(0, (at - oldest) / Math.max(1, to - oldest)))
        const logFrom = Millis(Math.min(oldest, this.#repair.logFrom ?? oldest))
        const progress = Math.max(this.#repair.progress, first / LIMITS.partitions + share * part)
        this.#update({ logFrom, progress })
      },
      counted: (messages) => this.#update({ messages: this.#repair.messages + messages }),
    })
  }

  /** Computes the hours again that the log has in full (P1), with a margin for device times that run ahead. */
  async #rollups(): Promise<void> {
    const { logFrom, from, to } = this.#repair
    if (logFrom === undefined) return
    const isWhole = from >= logFrom
    const first = isWhole
      ? Math.floor(from / HOUR_MS)
      : Math.ceil((logFrom + LIMITS.timestampAheadMsMax) / HOUR_MS)
    const span = { from: Millis(first * HOUR_MS), to: Millis(Math.ceil(to / HOUR_MS) * HOUR_MS) }
    if (span.from >= span.to) return
    await this.#options.ports.telemetry.resettle(span.from, span.to)
    this.#repair = { ...this.#repair, rollups: span }
  }

  /** Copies the table of devices, which follows from the records, whatever the log has. */
  async #devices(): Promise<void> {
    const { host, ports } = this.#options
    const { schedule } = host
    const { devices } = ports.store
    const copier = new DeviceCopier({
      ...ports,
      devices,
      schedule,
      failed: () => {},
    })
    await copier.copy({ isWhole: true })
  }

  #update(change: Partial<Repair>): void {
    const { clock } = this.#options.ports
    this.#repair = { ...this.#repair, ...change, updatedAt: clock.now() }
    if (clock.ticks() - this.#savedAt < SAVE_EVERY_MS) return
    this.#savedAt = clock.ticks()
    this.#saving = this.#saving.then(() => this.#saveProgress())
  }

  async #end(change: Partial<Repair>): Promise<void> {
    this.#repair = { ...this.#repair, ...change, updatedAt: this.#options.ports.clock.now() }
    await this.#saving
    await this.#saveProgress()
  }

  async #saveProgress(): Promise<void> {
    const { ports, host } = this.#options
    if (latestOf(ports)?.id !== this.#repair.id) {
      // A later repair does everything.
      this.stop()
      return
    }
    try {
      await ports.store.putFact(PROGRESS, JSON.stringify(this.#repair))
    } catch (error) {
      host.warn('the progress of a repair cannot be saved; the repair goes on', { err: error })
    }
  }
}
