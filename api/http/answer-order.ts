// Answers the requests of one connection one at a time. Node emits all pipelined requests at once, and answers that the
// client does not read yet would pile up in memory.
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Calls `handle` once the answers to all earlier requests of the connection have been sent. */
export function answerInOrder(
  { socket }: IncomingMessage,
  response: ServerResponse,
  handle: () => void,
): void {
  // If the sender has left meanwhile, there is no address to judge the request by, and nobody to answer.
  const handleIfConnected = () => {
    if (!socket.destroyed && socket.remoteAddress !== undefined) handle()
  }
  // Node assigns the socket to one response at a time, in order.
  if (response.socket !== null) handleIfConnected()
  else response.once('socket', handleIfConnected)
}
