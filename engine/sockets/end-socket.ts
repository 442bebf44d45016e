// Ends a socket for good. A peer that never closes its own half would keep it, and its open file, for ever.
import type { Socket } from 'node:net'
import { LIMITS } from '../limits.ts'

/** Sends the last bytes and closes this half. A peer that has not closed its own by then loses the socket after a while. */
export function endSocket(socket: Socket, lastBytes: string): void {
  const timer = setTimeout(() => socket.destroy(), LIMITS.refusedSocketMsMax)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
  // What the peer still sends is read and dropped: unread bytes would make the system send a reset, which overtakes these.
  socket.removeAllListeners('data')
  socket.resume()
  socket.end(lastBytes)
}
