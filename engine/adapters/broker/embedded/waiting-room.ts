// Connections that are not admitted yet: in a TLS handshake, silent, sending their CONNECT, or being judged.
//
// - Nobody can fill the room alone: each address is limited to its share.
// W2. When there is no room, a connection that has waited long gives way to a new one. Honest devices wait for
//     milliseconds, so silent ones keep nobody out, not even behind the same address.
// - An admitted connection no longer counts, so a network with many devices may have all of them connected.
import { networkOf } from '../../../domain/network-of.ts'
import { LIMITS } from '../../../limits.ts'
import type { Peer } from './peer.ts'

export interface Room {
  readonly max: number
  /** Connections of one IPv4 address or IPv6 /64. */
  readonly perAddressMax: number
  /** Monotonic milliseconds. */
  ticks(): number
}

/** Addresses and ports, which a peer and the plain socket below it have in common. */
type Ends = Pick<Peer, 'remoteAddress' | 'remotePort' | 'localPort'>

interface WaitingPeer {
  readonly since: number
  destroy(): void
}

export class WaitingRoom {
  readonly #room: Room
  /** The connections of each address, the oldest first. */
  readonly #waiting = new Map<string, Map<string, WaitingPeer>>()
  #count = 0

  constructor(room: Room) {
    this.#room = room
  }

  /** Returns false if there is no room for the connection. It must be closed then. */
  enter(socket: Ends & { destroy(): void }): boolean {
    const network = networkOf(socket.remoteAddress ?? '')
    if (this.#sizeOf(network) >= this.#room.perAddressMax && !this.#giveWay(network)) return false
    if (this.#count >= this.#room.max && !this.#giveWay(this.#fullest())) return false
    let own = this.#waiting.get(network)
    if (own === undefined) {
      own = new Map()
      this.#waiting.set(network, own)
    }
    own.set(keyOf(socket), { since: this.#room.ticks(), destroy: () => socket.destroy() })
    this.#count++
    return true
  }

  /** Called when the connection has been admitted or is gone. May be called again. */
  leave(socket: Ends): void {
    this.#remove(networkOf(socket.remoteAddress ?? ''), keyOf(socket))
  }

  /** Ends the oldest connection of an address if it may be ended (W2). */
  #giveWay(network: string): boolean {
    const [oldest] = this.#waiting.get(network) ?? []
    if (oldest === undefined) return false
    const [key, waiting] = oldest
    if (this.#room.ticks() - waiting.since < LIMITS.handshakeGivesWayMs) return false
    this.#remove(network, key)
    waiting.destroy()
    return true
  }

  #remove(network: string, key: string): void {
    const own = this.#waiting.get(network)
    if (own?.delete(key) !== true) return
    this.#count--
    if (own.size === 0) this.#waiting.delete(network)
  }

  #sizeOf(network: string): number {
    return this.#waiting.get(network)?.size ?? 0
  }

  #fullest(): string {
    let fullest = ''
    for (const network of this.#waiting.keys())
      if (this.#sizeOf(network) > this.#sizeOf(fullest)) fullest = network
    return fullest
  }
}

const keyOf = ({ remoteAddress, remotePort, localPort }: Ends) =>
  `${remoteAddress} ${remotePort} ${localPort}`
