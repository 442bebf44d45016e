import type { Duplex } from 'node:stream'

/** A device's end of a connection: a TCP or TLS socket, or MQTT in a WebSocket. */
export interface Peer extends Duplex {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
  readonly localPort?: number | undefined
}
