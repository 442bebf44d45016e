// Peers that are being sent their last bytes. A peer that does not read them in time is cut off.
import { LIMITS } from '../../../limits.ts'
import type { Peer } from './peer.ts'

export class ClosingPeers {
  /** Monotonic milliseconds until which each may take its last bytes. */
  readonly #until = new Map<Peer, number>()
  readonly #ticks: () => number

  constructor(ticks: () => number) {
    this.#ticks = ticks
  }

  closeWith(peer: Peer, lastBytes: Uint8Array): void {
    if (peer.destroyed) return
    this.#until.set(peer, this.#ticks() + LIMITS.refusedSocketMsMax)
    // Further bytes from the peer are read and dropped: unread ones would reset the connection before these arrive.
    peer.resume()
    peer.end(lastBytes)
  }

  remove(peer: Peer): void {
    this.#until.delete(peer)
  }

  sweep(ticks: number): void {
    for (const [peer, until] of this.#until) if (ticks >= until) peer.destroy()
  }
}
