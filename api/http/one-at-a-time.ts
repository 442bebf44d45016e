// Answers the requests of one connection one at a time. Node emits all pipelined requests at once, and answers that the
// client does not read yet would pile up in memory.
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Calls `go` once the answers to all earlier requests of the connection have been sent. */
export function inTurn({ socket }: IncomingMessage, response: ServerResponse, go: () => void): void {
  // If the sender has left meanwhile, there is no address to judge the request by, and nobody to answer.
  const goIfThere = () => {
    if (!socket.destroyed && socket.remoteAddress !== undefined) go()
  }
  // Node assigns the socket to one response at a time, in order.
  if (response.socket !== null) goIfThere()
  else response.once('socket', goIfThere)
}
