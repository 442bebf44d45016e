// What a fault does to the connection of a device, as time passes. What it does to messages is decided when they are made.
import { isActive, isDown, nextChangeSec } from '../decide/distort.ts'
import type { Fault } from '../scenario/scenario.ts'
import type { Link } from '../wire/link.ts'
import type { World } from './world.ts'

export interface Breakable {
  readonly world: World
  readonly link: Link
  /** Its connection is a gateway's. */
  readonly isSub: boolean
  connect(): void
  disconnect(): void
  mute(isMute: boolean): void
}

/** A slow reader reads so long between its pauses. */
const READS_MS = 100
/** A change is looked at right after it. */
const SOON_MS = 2

export class Breakage {
  readonly fault: Fault
  readonly #device: Breakable
  #isOver = false
  /** Whether it has the connection down, silent or unread now. */
  #isApplied = false

  constructor(device: Breakable, fault: Fault) {
    this.#device = device
    this.fault = fault
    this.#next()
  }

  /** Another fault, or none, takes its place. */
  end(): void {
    this.#isOver = true
    this.#apply(false)
  }

  #next(): void {
    if (this.#isOver) return
    const { world } = this.#device
    const { fault } = this
    const elapsedSec = world.elapsedSec()
    this.#apply(this.#isWanted(elapsedSec))
    const next = nextChangeSec(fault, elapsedSec)
    if (next !== undefined) world.after((next - elapsedSec) * 1_000 + SOON_MS, () => this.#next())
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
    link.read(!this.#isApplied)
    if (!this.#isApplied) return
    world.after(this.fault.everySec * 1_000, () => {
      link.read(true)
      if (this.#isApplied) world.after(READS_MS, () => this.#pause())
    })
  }
}
