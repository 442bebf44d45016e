// Limits open connections: in total, so that file descriptors remain for the log and the store, and per address.
import type { Server, Socket } from 'node:net'
import { networkOf } from '../../engine/domain/network-of.ts'
import { API_LIMITS } from '../limits.ts'
import { openFilesMax } from '../open-files.ts'
import { TrustedProxies } from './trusted-proxies.ts'

/** Trusted proxies are not limited, because they hold the connections of many clients. */
export function boundConnections(server: Server, trustedProxies: readonly string[]): void {
  const trusted = new TrustedProxies(trustedProxies)
  server.maxConnections = Math.min(API_LIMITS.connectionsMax, Math.floor(openFilesMax() / 4))
  const openByNetwork = new Map<string, number>()
  const counted = new WeakSet<Socket>()
  // With TLS this is the event of the plain socket, emitted before a handshake costs anything.
  server.on('connection', (socket) => {
    // A request that offers `h2c` is handed back to the server with its socket, which then emits this event again.
    if (counted.has(socket)) return
    counted.add(socket)
    const { remoteAddress = '' } = socket
    const network = networkOf(remoteAddress)
    const count = (openByNetwork.get(network) ?? 0) + 1
    if (count > API_LIMITS.connectionsPerAddressMax && !trusted.has(remoteAddress)) {
      socket.destroy()
      return
    }
    openByNetwork.set(network, count)
    socket.once('close', () => {
      const remaining = (openByNetwork.get(network) ?? 0) - 1
      if (remaining > 0) openByNetwork.set(network, remaining)
      else openByNetwork.delete(network)
    })
  })
}
