// Counts the fleet once a minute. The leader does this for all nodes.
//
// CT1. If ClickHouse does not take a count, that minute stays a gap, because a later count would not be true for it.
import { Millis } from '../../../schemas/ids.ts'
import { Census, encodeCensus } from '../../domain/fleet/census.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { Fault } from '../../ports/fault.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Directory } from '../../ports/store.ts'
import type { Telemetry } from '../../ports/telemetry.ts'

export interface CensusPorts {
  readonly devices: Pick<Directory, 'matching' | 'summary'>
  readonly telemetry: Pick<Telemetry, 'insert'>
  readonly clock: Pick<Clock, 'now'>
  readonly schedule: Pick<Schedule, 'every' | 'sleep'>
  readonly failed: (error: unknown) => void
}

export class CensusTaker {
  readonly #ports: CensusPorts
  #stop: (() => void) | undefined
  #isCounting = false

  constructor(ports: CensusPorts) {
    this.#ports = ports
  }

  open(): void {
    this.#stop = this.#ports.schedule.every(LIMITS.censusEveryMs, () => void this.count())
  }

  close(): void {
    this.#stop?.()
    this.#stop = undefined
  }

  /** Never rejects. */
  async count(): Promise<void> {
    if (this.#isCounting) return
    this.#isCounting = true
    try {
      await this.#count()
    } catch (error) {
      // Left out by CT1. If ClickHouse does not answer, `/readyz` says so.
      if (!(error instanceof Fault && error.retryable)) this.#ports.failed(error)
    } finally {
      this.#isCounting = false
    }
  }

  async #count(): Promise<void> {
    const { devices, telemetry, clock, schedule } = this.#ports
    const at = Millis(Math.floor(clock.now() / LIMITS.censusEveryMs) * LIMITS.censusEveryMs)
    const census = new Census()
    let looked = 0
    for (const id of devices.matching({})) {
      const device = devices.summary(id)
      if (device !== undefined) census.add(device.group, device.status)
      // Gives way, so that other work does not wait for long.
      if (++looked % LIMITS.censusDevicesAtOnce === 0) await schedule.sleep(0)
    }
    const block = encodeCensus(census.rows(LIMITS.censusGroupsMax), at)
    if (block !== undefined) await telemetry.insert({ kind: 'census', ...block })
  }
}
