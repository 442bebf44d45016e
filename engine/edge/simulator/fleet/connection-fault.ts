// Applies a fault to the connection of a device over time. Faults of messages are applied when a message is created.
import { isActive, isDown, nextChangeSec } from '../decide/distort.ts'
import type { Fault } from '../scenario/scenario.ts'
import type { Link } from '../wire/link.ts'
import type { World } from './world.ts'

export interface FaultyDevice {
  readonly world: World
  readonly link: Link
  /** True if the device is connected through a gateway. */
  readonly isSub: boolean
  connect(): void
  disconnect(): void
  mute(isMute: boolean): void
}

/** The time that a slow reader reads between two pauses. */
const READS_MS = 100
/** Each change is applied this much later, so that rounding cannot place the check before it. */
const SOON_MS = 2

export class ConnectionFault {
  readonly fault: Fault
  readonly #device: FaultyDevice
  #hasEnded = false
  /** True while the fault keeps the connection down, silent or unread. */
  #isApplied = false

  constructor(device: FaultyDevice, fault: Fault) {
    this.#device = device
    this.fault = fault
    this.#update()
  }

  /** Ends the fault, because another one or none replaces it. */
  end(): void {
    this.#hasEnded = true
    this.#apply(false)
  }

  #update(): void {
    if (this.#hasEnded) return
    const { world } = this.#device
    const { fault } = this
    const elapsedSec = world.elapsedSec()
    this.#apply(this.#isWanted(elapsedSec))
    const next = nextChangeSec(fault, elapsedSec)
    if (next !== undefined) world.after((next - elapsedSec) * 1_000 + SOON_MS, () => this.#update())
  }

  #isWanted(elapsedSec: number): boolean {
    const { kind } = this.fault
    if (kind === 'half_open' || kind === 'slow_reader') return isActive(this.fault, elapsedSec)
    return isDown(this.fault, elapsedSec)
  }

  #apply(isWanted: boolean): void {
    if (isWanted === this.#isApplied) return
    this.#isApplied = isWanted
    const device = this.#device
    if (this.fault.kind === 'half_open') device.mute(isWanted)
    else if (this.fault.kind === 'slow_reader') this.#pause()
    else if (isWanted) device.disconnect()
    else device.connect()
  }

  #pause(): void {
    const { link, world, isSub } = this.#device
    if (isSub) return
    link.setReading(!this.#isApplied)
    if (!this.#isApplied) return
    world.after(this.fault.everySec * 1_000, () => {
      link.setReading(true)
      if (this.#isApplied) world.after(READS_MS, () => this.#pause())
    })
  }
}
