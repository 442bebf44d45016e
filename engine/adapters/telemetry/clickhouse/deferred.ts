// Telemetry that is still being opened: the engine starts without waiting for ClickHouse, and rows wait in the log.

import type { Readable } from 'node:stream'
import type { DeviceId, Micros } from '../../../../schemas/ids.ts'
import { Millis } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { AuditFilter, AuditQuery, AuditRow } from '../../../ports/audit.ts'
import { Fault } from '../../../ports/fault.ts'
import type { HistoryFilter, HistoryQuery, HistoryRow } from '../../../ports/history.ts'
import type {
  Block,
  Export,
  Point,
  PointsQuery,
  Series,
  SeriesQuery,
  Telemetry,
} from '../../../ports/telemetry.ts'

export class DeferredTelemetry implements Telemetry {
  readonly #open: () => Promise<Telemetry>
  readonly #failed: (cause: unknown) => void
  #telemetry: Telemetry | undefined
  #isClosed = false
  #opening: Promise<void> | undefined
  #wake: (() => void) | undefined

  constructor(open: () => Promise<Telemetry>, failed: (cause: unknown) => void) {
    this.#open = open
    this.#failed = failed
  }

  /** Opens it, and again until it succeeds. Resolves once it is open, or closed; rejects if it never will be. */
  begin(): Promise<void> {
    this.#opening ??= this.#run()
    return this.#opening
  }

  async insert(block: Block): Promise<void> {
    return this.#get().insert(block)
  }

  async series(query: SeriesQuery): Promise<readonly Series[]> {
    return this.#get().series(query)
  }

  async points(query: PointsQuery): Promise<readonly Point[]> {
    return this.#get().points(query)
  }

  async export(what: Export): Promise<Readable> {
    return this.#get().export(what)
  }

  horizon(): Millis {
    return this.#telemetry?.horizon() ?? Millis(0)
  }

  async settle(upTo: Millis, late: Parameters<Telemetry['settle']>[1]): Promise<void> {
    return this.#get().settle(upTo, late)
  }

  async resettle(from: Millis, to: Millis): Promise<void> {
    return this.#get().resettle(from, to)
  }

  async countPoints(deviceId?: DeviceId): Promise<number> {
    return this.#get().countPoints(deviceId)
  }

  async newest(deviceId: DeviceId): Promise<Micros | undefined> {
    return this.#get().newest(deviceId)
  }

  async history(query: HistoryQuery): Promise<readonly HistoryRow[]> {
    return this.#get().history(query)
  }

  async countHistory(filter: HistoryFilter): Promise<number> {
    return this.#get().countHistory(filter)
  }

  async countAudit(filter: AuditFilter): Promise<number> {
    return this.#get().countAudit(filter)
  }

  async audit(query: AuditQuery): Promise<readonly AuditRow[]> {
    return this.#get().audit(query)
  }

  isUp(): boolean {
    return this.#telemetry?.isUp() ?? false
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#wake?.()
    // Whoever began it was told what went wrong.
    await this.#opening?.catch(() => undefined)
    await this.#telemetry?.close()
  }

  #get(): Telemetry {
    if (this.#telemetry === undefined)
      throw new Fault('TELEMETRY_UNAVAILABLE', { retryable: true, message: 'ClickHouse is starting' })
    return this.#telemetry
  }

  async #run(): Promise<void> {
    while (!this.#isClosed && this.#telemetry === undefined) {
      try {
        this.#telemetry = await this.#open()
      } catch (cause) {
        if (cause instanceof Fault && !cause.retryable) throw cause
        this.#failed(cause)
        await this.#pause()
      }
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, LIMITS.telemetryStartRetryMs)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
