// The engine's workers, wired to its metrics and warnings: a runner for each shard, what inserts its rows, and what
// inserts the history.
import type { Millis } from '../../schemas/ids.ts'
import type { Ports } from '../ports/engine.ts'
import type { Block } from '../ports/telemetry.ts'
import { AuditBook } from './audit-book.ts'
import type { Ingest } from './ingress/ingest.ts'
import type { EngineMeans } from './means.ts'
import type { Metrics } from './metrics.ts'
import { HistoryWriter } from './rows/history-writer.ts'
import { Inserter } from './rows/inserter.ts'
import { Runner, type RunnerSettings } from './runner/runner.ts'
import type { Proposal } from './shard/protocol.ts'

interface WorkersOptions {
  readonly ports: Ports
  readonly means: Pick<EngineMeans, 'schedule' | 'openThread' | 'warn' | 'fatal'>
  readonly metrics: Metrics
  readonly ingest: Ingest
  readonly horizon: () => Millis
  readonly perform: (proposal: Proposal) => void
}

interface OpenInserter {
  readonly inserter: Inserter
  /** Since when the oldest message of a block had been waiting. */
  readonly cutAt: WeakMap<Block, Millis>
}

export class Workers {
  readonly #options: WorkersOptions

  constructor(options: WorkersOptions) {
    this.#options = options
  }

  openInserter(): OpenInserter {
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
    return { inserter, cutAt }
  }

  openRunner(shard: number, { inserter, cutAt }: OpenInserter, settings: RunnerSettings): Runner {
    const { ports, means, metrics, ingest, horizon, perform } = this.#options
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
        fatal,
        lost: (error) => {
          metrics.lost()
          warn('a shard was lost and is loaded again', { shard, err: error })
        },
        horizon,
        now: () => ingest.now(),
        heardUpTo: () => (ingest.fault() === undefined ? ingest.durableUpTo() : undefined),
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

  /** `life`: unique per start. */
  openHistory(life: string): HistoryWriter {
    const { ports, means, metrics } = this.#options
    const { clock, store, telemetry } = ports
    const { schedule, warn, fatal } = means
    return new HistoryWriter({
      store,
      telemetry,
      schedule,
      ticks: () => clock.ticks(),
      life,
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
