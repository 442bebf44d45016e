// Streams results of any size: the engine sends its rows to a server in this process (`INSERT INTO FUNCTION url`),
// which passes them on to the client. The engine's own streaming returns each block as a complete file of its format.
//
// Only sockets hold rows, so a slow reader slows the engine down. A response ends well only if its statement did, and a
// reader that leaves ends its statement.
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type RowsHandler = (rows: IncomingMessage) => void

export class RowsServer {
  readonly #server: Server
  /** The key is a path that cannot be guessed. */
  readonly #handlers = new Map<string, RowsHandler>()

  private constructor() {
    // No timeout: the engine sends for as long as the reader takes.
    this.#server = createServer({ requestTimeout: 0 }, (request, response) =>
      this.#receive(request, response),
    )
  }

  static async open(): Promise<RowsServer> {
    const rows = new RowsServer()
    await new Promise<void>((resolve, reject) => {
      rows.#server.once('error', reject)
      rows.#server.listen(0, '127.0.0.1', resolve)
    })
    return rows
  }

  /**
   * Runs a statement that sends its rows to the given URL, and responds with them. Resolves with false if there were no
   * rows; the response is untouched then. Rejects as `run` does if that fails before the first row.
   */
  async answer(response: ServerResponse, run: (url: string) => Promise<unknown>): Promise<boolean> {
    const path = `/${randomBytes(24).toString('base64url')}`
    let rows: IncomingMessage | undefined
    const abort = () => {
      this.#handlers.delete(path)
      rows?.destroy()
    }
    response.once('close', abort)
    this.#handlers.set(path, (request) => {
      rows = request
      request.pipe(response, { end: false })
    })
    try {
      await run(`http://127.0.0.1:${this.#port()}${path}`)
      if (rows === undefined) return false
      response.end()
      return true
    } catch (cause) {
      if (rows === undefined) throw cause
      // The reader must see that the result is cut short.
      response.destroy()
      return true
    } finally {
      this.#handlers.delete(path)
    }
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const handler = this.#handlers.get(request.url ?? '')
    if (handler === undefined) {
      response.writeHead(404, { Connection: 'close' }).end()
      return
    }
    // The engine counts its rows as sent once it has this response.
    request.once('end', () => response.end())
    request.once('error', () => response.destroy())
    handler(request)
  }

  #port(): number {
    // A listening TCP server has an address with a port.
    return (this.#server.address() as AddressInfo).port
  }
}
