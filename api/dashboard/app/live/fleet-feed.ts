// The worker's part of the local index: subscribes to the channel `fleet`, reads the index, and hands on what has changed.
//
// FF1. Deltas that come before the index was read wait for it: the page applies those that are newer (columns C2).
// FF2. An index may be a second old when it is read. What changed in that second may have been sent to nobody, so the
//      changes since its cursor are read once more.
// FF3. On a slow line the names come after the second reading, once there is a picture of the fleet.
// - Without the channel, changes are asked for every few seconds.
import type { FleetIndex } from '../../../../schemas/fleet.ts'
import type { FleetDelta, FleetStats } from '../../../../schemas/ws.ts'
import { PendingDeltas } from '../fleet/pending-deltas.ts'
import type { FleetSource, FromWorker } from './messages.ts'
import type { EventFrame } from './subscriptions.ts'

export const FLEET_ID = 'fleet'
const SECOND_READ_MS = 1500
const ASK_AGAIN_MS = 5000

export interface FleetFeedParts {
  readonly send: (frame: object) => void
  readonly say: (message: FromWorker) => void
  readonly token: () => string | undefined
}

export class FleetFeed {
  readonly #parts: FleetFeedParts
  readonly #pending = new PendingDeltas()
  #source: FleetSource | undefined
  #areNamesMissing = false
  #cursor: string | undefined
  #isRead = false
  #isReading = false
  #stats: FleetStats | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(parts: FleetFeedParts) {
    this.#parts = parts
  }

  follow(source: FleetSource): void {
    this.#source = source
  }

  /** A new connection: what came on the one before may have had a gap. */
  begin(): void {
    if (this.#source === undefined) return
    this.#isRead = false
    const { paceMs } = this.#source
    this.#parts.send({ type: 'subscribe', id: FLEET_ID, channel: 'fleet', throttle_ms: paceMs })
    this.#readIn(0)
  }

  take({ type, event, data }: EventFrame): void {
    // The service left something out: it is read again.
    if (type === 'resync') this.#readIn(0)
    // The channel cannot be had.
    if (type === 'error') this.#readIn(ASK_AGAIN_MS, true)
    if (type !== 'event') return
    // The service's own tests check its frames.
    if (event === 'fleet.stats') this.#stats = data as FleetStats
    else this.#pending.add(data as FleetDelta)
  }

  /** Gives whether there was something. */
  handOver(): boolean {
    if (!this.#isRead) return false // by FF1
    if (this.#pending.isEmpty && this.#stats === undefined) return false
    this.#parts.say({ kind: 'fleet-deltas', deltas: this.#pending.take(), stats: this.#stats })
    this.#stats = undefined
    return true
  }

  #readIn(ms: number, isRepeated = false): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      void this.#read().then((isDone) => {
        if (isRepeated || !isDone) this.#readIn(ASK_AGAIN_MS, isRepeated)
      })
    }, ms)
  }

  /** Resolves with whether it succeeded. */
  async #read(): Promise<boolean> {
    if (this.#source === undefined || this.#isReading) return false
    this.#isReading = true
    const isWhole = this.#cursor === undefined
    const isNameless = isWhole && this.#source.isThrifty
    try {
      const index = await this.#ask(this.#queryFor(isNameless))
      if (index === undefined) return false
      // Changes to what the page does not have are not the fleet.
      this.#cursor = index.truncated ? undefined : index.cursor
      this.#isRead = true
      this.#parts.say({ kind: 'fleet-index', index })
      if (isWhole && !index.truncated) this.#readIn(SECOND_READ_MS) // by FF2
      if (isNameless) this.#areNamesMissing = true
      else if (this.#areNamesMissing) return await this.#readNames() // by FF3
      return true
    } catch {
      // The service is away; the socket tells of it, and the index is read when it is back.
      return false
    } finally {
      this.#isReading = false
    }
  }

  #queryFor(isNameless: boolean): Readonly<Record<string, string>> {
    if (this.#cursor !== undefined) return { since: this.#cursor }
    return isNameless ? { names: 'without' } : {}
  }

  async #readNames(): Promise<boolean> {
    const index = await this.#ask({ names: 'only' })
    if (index === undefined) return false
    this.#areNamesMissing = false
    this.#parts.say({ kind: 'fleet-names', index })
    return true
  }

  /** Undefined if it was refused. */
  async #ask(query: Readonly<Record<string, string>>): Promise<FleetIndex | undefined> {
    const token = this.#parts.token()
    if (this.#source === undefined || token === undefined) return undefined
    const search = new URLSearchParams(query).toString()
    const response = await fetch(`${this.#source.url}${search === '' ? '' : `?${search}`}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    if (response.status === 410) this.#cursor = undefined
    if (response.status === 401) this.#parts.say({ kind: 'token-wanted', isRefused: true })
    if (response.ok) return (await response.json()) as FleetIndex
    this.#parts.say({ kind: 'fleet-failed', status: response.status })
    return undefined
  }
}
