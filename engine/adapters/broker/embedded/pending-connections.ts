// Connections that are not admitted yet: in a TLS handshake, silent, sending their CONNECT, or being judged.
//
// - Nobody can fill the room alone: each address is limited to its share.
// W2. When there is no room, a connection that has waited long gives way to a new one. Honest devices wait for
//     milliseconds, so silent ones keep nobody out, not even behind the same address.
// - An admitted connection no longer counts, so a network with many devices may have all of them connected.
import { networkOf } from '../../../domain/network-of.ts'
import { LIMITS } from '../../../limits.ts'
import type { Peer } from './peer.ts'

export interface PendingConnectionsOptions {
  readonly max: number
  /** Connections of one IPv4 address or IPv6 /64. */
  readonly perAddressMax: number
  /** Monotonic milliseconds. */
  ticks(): number
}

/** Addresses and ports, which a peer and the plain socket below it have in common. */
type SocketAddress = Pick<Peer, 'remoteAddress' | 'remotePort' | 'localPort'>

interface PendingPeer {
  readonly since: number
  destroy(): void
}

export class PendingConnections {
  readonly #options: PendingConnectionsOptions
  /** The connections of each address, the oldest first. */
  readonly #pending = new Map<string, Map<string, PendingPeer>>()
  #count = 0

  constructor(options: PendingConnectionsOptions) {
    this.#options = options
  }

  /** Returns false if there is no room for the connection. It must be closed then. */
  add(socket: SocketAddress & { destroy(): void }): boolean {
    const network = networkOf(socket.remoteAddress ?? '')
    if (this.#sizeOf(network) >= this.#options.perAddressMax && !this.#evictOldest(network)) return false
    if (this.#count >= this.#options.max && !this.#evictOldest(this.#busiestNetwork())) return false
    let own = this.#pending.get(network)
    if (own === undefined) {
      own = new Map()
      this.#pending.set(network, own)
    }
    own.set(keyOf(socket), { since: this.#options.ticks(), destroy: () => socket.destroy() })
    this.#count++
    return true
  }

  /** Called when the connection has been admitted or is gone. May be called again. */
  remove(socket: SocketAddress): void {
    this.#remove(networkOf(socket.remoteAddress ?? ''), keyOf(socket))
  }

  /** Ends the oldest connection of an address if it may be ended (W2). */
  #evictOldest(network: string): boolean {
    const [oldest] = this.#pending.get(network) ?? []
    if (oldest === undefined) return false
    const [key, peer] = oldest
    if (this.#options.ticks() - peer.since < LIMITS.handshakeGivesWayMs) return false
    this.#remove(network, key)
    peer.destroy()
    return true
  }

  #remove(network: string, key: string): void {
    const own = this.#pending.get(network)
    if (own?.delete(key) !== true) return
    this.#count--
    if (own.size === 0) this.#pending.delete(network)
  }

  #sizeOf(network: string): number {
    return this.#pending.get(network)?.size ?? 0
  }

  #busiestNetwork(): string {
    let busiest = ''
    for (const network of this.#pending.keys())
      if (this.#sizeOf(network) > this.#sizeOf(busiest)) busiest = network
    return busiest
  }
}

const keyOf = ({ remoteAddress, remotePort, localPort }: SocketAddress) =>
  `${remoteAddress} ${remotePort} ${localPort}`
