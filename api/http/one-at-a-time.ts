// Answers the requests of one connection one after the other. Node hands over all that a client has pipelined at once,
// and answers that nobody takes yet would pile up in memory.
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Calls `go` once the answers to all earlier requests of the connection are sent. */
export function inTurn({ socket }: IncomingMessage, response: ServerResponse, go: () => void): void {
  // A request whose sender has left meanwhile has no address to be judged by, and nobody to be answered.
  const goIfThere = () => {
    if (!socket.destroyed && socket.remoteAddress !== undefined) go()
  }
  // Node gives the connection to one answer at a time, in their order.
  if (response.socket !== null) goIfThere()
  else response.once('socket', goIfThere)
}
