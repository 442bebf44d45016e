// Ends a socket for good. A peer that never closes its own half would keep it, and its open file, for ever.
import type { Socket } from 'node:net'

/** Time in which a peer must take the last bytes and close its half. */
const END_MS_MAX = 2_000

/** Sends the last bytes, then lets go of the socket once they are taken, and at the latest after two seconds. */
export function endSocket(socket: Socket, lastBytes: string): void {
  const timer = setTimeout(() => socket.destroy(), END_MS_MAX)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
  // What the peer still sends is read and dropped: unread bytes would make the system send a reset, which overtakes these.
  socket.removeAllListeners('data')
  socket.resume()
  socket.end(lastBytes)
}
