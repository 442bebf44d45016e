// Answers the requests of one connection one after the other. Node hands over all that a client has pipelined at once,
// and answers that nobody takes yet would pile up in memory.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export function createQueues(): (request: IncomingMessage, response: ServerResponse, go: () => void) => void {
  const last = new WeakMap<Socket, ServerResponse>()
  return ({ socket }, response, go) => {
    const before = last.get(socket)
    last.set(socket, response)
    // A request whose sender has left meanwhile has no address to be judged by, and nobody to be answered.
    const goIfThere = () => {
      if (!socket.destroyed && socket.remoteAddress !== undefined) go()
    }
    if (before === undefined || before.closed) goIfThere()
    else before.once('close', goIfThere)
  }
}
