// The worker's part of the local index: subscribes to the channel `fleet`, reads the index, and hands on what has changed.
//
// FF1. Deltas that come before the index was read wait for it: the page applies those that are newer (columns C2).
// FF2. An index may be a second old when it is read. What changed in that second may have been sent to nobody, so the
//      changes since its cursor are read once more.
// - Without the channel, changes are asked for every few seconds.
import type { FleetIndex } from '../../../../schemas/fleet.ts'
import type { FleetDelta, FleetStats } from '../../../../schemas/ws.ts'
import { PendingDeltas } from '../fleet/pending-deltas.ts'
import type { FromWorker } from './messages.ts'
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
  #url: string | undefined
  #paceMs = 0
  #cursor: string | undefined
  #isRead = false
  #isReading = false
  #stats: FleetStats | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(parts: FleetFeedParts) {
    this.#parts = parts
  }

  /** `url` is that of the index; `paceMs` is how often changes are sent at most. */
  follow(url: string, paceMs: number): void {
    this.#url = url
    this.#paceMs = paceMs
  }

  /** A new connection: what came on the one before may have had a gap. */
  begin(): void {
    if (this.#url === undefined) return
    this.#isRead = false
    this.#parts.send({ type: 'subscribe', id: FLEET_ID, channel: 'fleet', throttle_ms: this.#paceMs })
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
    const token = this.#parts.token()
    if (this.#url === undefined || this.#isReading || token === undefined) return false
    this.#isReading = true
    const since = this.#cursor === undefined ? '' : `?since=${encodeURIComponent(this.#cursor)}`
    try {
      const response = await fetch(`${this.#url}${since}`, { headers: { authorization: `Bearer ${token}` } })
      if (response.status === 410) this.#cursor = undefined
      if (response.status === 401) this.#parts.say({ kind: 'token-wanted', isRefused: true })
      if (!response.ok) {
        this.#parts.say({ kind: 'fleet-failed', status: response.status })
        return false
      }
      this.#loaded((await response.json()) as FleetIndex, since === '')
      return true
    } catch {
      // The service is away; the socket tells of it, and the index is read when it is back.
      return false
    } finally {
      this.#isReading = false
    }
  }

  #loaded(index: FleetIndex, isWhole: boolean): void {
    this.#cursor = index.cursor
    this.#isRead = true
    this.#parts.say({ kind: 'fleet-index', index })
    if (isWhole) this.#readIn(SECOND_READ_MS) // by FF2
  }
}
