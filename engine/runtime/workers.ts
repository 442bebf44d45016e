// The engine's workers, wired to its metrics and warnings: a runner for each shard, what inserts its rows, and what
// inserts the history.
import type { Micros, Millis, Partition } from '../../schemas/ids.ts'
import type { Ports } from '../ports/engine.ts'
import { Fault } from '../ports/fault.ts'
import type { Block } from '../ports/telemetry.ts'
import { AuditBook } from './audit-book.ts'
import type { Ingest } from './ingress/ingest.ts'
import type { EngineMeans } from './means.ts'
import type { Metrics } from './metrics.ts'
import { HistoryWriter } from './rows/history-writer.ts'
import { Inserter } from './rows/inserter.ts'
import { Assignment } from './runner/assignment.ts'
import { Runner, type RunnerSettings } from './runner/runner.ts'
import type { Proposal } from './shard/protocol.ts'

interface WorkersOptions {
  readonly ports: Ports
  readonly means: Pick<EngineMeans, 'schedule' | 'openThread' | 'warn' | 'fatal'>
  readonly metrics: Metrics
  readonly ingest: Ingest
  readonly horizon: () => Millis
  readonly watermark: (partitions: readonly Partition[]) => Millis | undefined
  /** A claim went through: what earlier owners saved is known from now on. */
  readonly assigned: () => void
  readonly perform: (proposal: Proposal) => void
}

export interface AssignmentSettings {
  /** No other process has any partition. */
  readonly isAlone: boolean
  readonly heartbeatTimeoutMs: number
  readonly bootAt: Micros
  /** Unique per start of any process. */
  readonly incarnation: string
}

interface OpenInserter {
  readonly inserter: Inserter
  /** Since when the oldest message of a block had been waiting. */
  readonly cutAt: WeakMap<Block, Millis>
}

export class Workers {
  readonly #options: WorkersOptions
  readonly #inserters: Inserter[] = []

  constructor(options: WorkersOptions) {
    this.#options = options
  }

  /** Blocks that wait for ClickHouse. */
  blocksWaiting(): number {
    return this.#inserters.reduce((sum, inserter) => sum + inserter.waiting, 0)
  }

  closeInserters(): void {
    for (const inserter of this.#inserters) inserter.close()
  }

  #openInserter(): OpenInserter {
    const { ports, means, metrics } = this.#options
    const { clock, telemetry } = ports
    const cutAt = new WeakMap<Block, Millis>()
    const secondsSince = (at: Millis | undefined) =>
      at === undefined ? undefined : (clock.now() - at) / 1000
    const inserter = new Inserter({
      telemetry,
      schedule: means.schedule,
      ticks: () => clock.ticks(),
      events: {
        inserted: (block, seconds) => metrics.inserted(block, seconds, secondsSince(cutAt.get(block))),
        failed: (fault) => {
          metrics.insertFailed('retried')
          means.warn('rows wait for ClickHouse', { err: fault })
        },
        refused: (block, fault) => {
          metrics.insertFailed('refused')
          const fields = { rows: block.rows, err: fault }
          means.warn('ClickHouse refused rows; they stay in the log for its retention', fields)
        },
      },
    })
    this.#inserters.push(inserter)
    return { inserter, cutAt }
  }

  /** Where one process has all partitions, nobody claims them. */
  openAssignment(shard: number, settings: AssignmentSettings): Assignment {
    const { ports, means } = this.#options
    const inserter = this.#openInserter()
    const { clock, store } = ports
    let runners = 0
    return new Assignment({
      clock,
      schedule: means.schedule,
      store: { claim: async (claims) => (settings.isAlone ? undefined : store.claim(claims)) },
      open: (claims, fenced) => {
        this.#options.assigned()
        const { heartbeatTimeoutMs, bootAt } = settings
        const partitions = claims.map(({ partition }) => partition)
        const incarnation = `${settings.incarnation}-${shard}-${runners++}`
        const own = settings.isAlone ? [] : claims
        return this.#openRunner(shard, inserter, {
          settings: { partitions, claims: own, heartbeatTimeoutMs, bootAt, incarnation },
          fenced,
        })
      },
      failed: (fault) => means.warn('partitions cannot be claimed, trying again', { shard, err: fault }),
    })
  }

  #openRunner(
    shard: number,
    { inserter, cutAt }: OpenInserter,
    { settings, fenced }: { readonly settings: RunnerSettings; readonly fenced: () => void },
  ): Runner {
    const { ports, means, metrics, ingest, horizon, perform, watermark } = this.#options
    const { clock, log, store } = ports
    const { schedule, openThread, warn, fatal } = means
    return new Runner(
      settings,
      { clock, schedule, log, store, inserter, openThread },
      {
        perform,
        worked: (result) => {
          for (const block of result.blocks) cutAt.set(block, result.blocksSince)
          metrics.worked(shard, result)
        },
        saveFailed: (fault) => {
          metrics.saveFailed()
          warn('the store does not save, trying again', { err: fault })
        },
        readFailed: (error) => warn('the log cannot be read, trying again', { shard, err: error }),
        fatal: (error) => {
          if (!(error instanceof Fault && error.code === 'STORE_FENCED')) return fatal(error)
          warn('another node has a partition of this shard', { shard, err: error })
          fenced()
        },
        lost: (error) => {
          metrics.lost()
          warn('a shard was lost and is loaded again', { shard, err: error })
        },
        horizon,
        now: () => ingest.now(),
        watermark: () => watermark(settings.partitions),
      },
    )
  }

  openAudit(stored: () => void): AuditBook {
    const { ports, means, metrics, ingest } = this.#options
    const { clock, store } = ports
    return new AuditBook({
      store,
      clock,
      nextNumber: () => ingest.nextAt(),
      events: {
        stored,
        lost: (entries, error) => {
          metrics.auditLost(entries)
          means.warn('refusals of devices are missing in the audit', { entries, err: error })
        },
      },
    })
  }

  /** `incarnation`: unique per start. */
  openHistory(incarnation: string): HistoryWriter {
    const { ports, means, metrics } = this.#options
    const { clock, store, telemetry } = ports
    const { schedule, warn, fatal } = means
    return new HistoryWriter({
      outbox: store,
      telemetry,
      schedule,
      ticks: () => clock.ticks(),
      incarnation,
      events: {
        inserted: (block, seconds) => metrics.inserted(block, seconds, undefined),
        failed: (fault) => {
          metrics.insertFailed('retried')
          warn('history waits for ClickHouse', { err: fault })
        },
        refused: (block, fault) => {
          metrics.insertFailed('refused')
          warn('ClickHouse refused history; it is lost', { rows: block.rows, err: fault })
        },
        storeFailed: (fault) => {
          if (fault.retryable) warn('the outbox of the history fails, trying again', { err: fault })
          else fatal(fault)
        },
      },
    })
  }
}
