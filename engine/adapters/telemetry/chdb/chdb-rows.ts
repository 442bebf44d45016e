// Results of any size, as they come: the engine sends its rows to a server of this process (`INSERT INTO FUNCTION url`),
// which passes them on to whoever asked. Its own way to stream gives each block as a whole file of its format.
//
// O1. Nothing is held but what sockets hold: whoever reads slowly slows the engine down.
// O2. An answer ends well only if its statement did; a reader that left ends its statement.
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Take = (rows: IncomingMessage) => void

export class RowsServer {
  readonly #server: Server
  /** By a path that nobody can guess. */
  readonly #awaited = new Map<string, Take>()

  private constructor() {
    // The engine sends for as long as a reader takes.
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
   * Runs a statement made for the URL it is given, and answers with the rows it sends there. Resolves with what `run`
   * gives; with false if it sent none, and then nothing is answered yet. Throws what `run` throws before the first row.
   */
  async answer(
    response: ServerResponse,
    head: Readonly<Record<string, string>>,
    run: (url: string) => Promise<unknown>,
  ): Promise<boolean> {
    const path = `/${randomBytes(24).toString('base64url')}`
    let rows: IncomingMessage | undefined
    const leave = () => {
      this.#awaited.delete(path)
      rows?.destroy()
    }
    response.once('close', leave)
    this.#awaited.set(path, (request) => {
      rows = request
      response.writeHead(200, head)
      request.pipe(response, { end: false })
    })
    try {
      await run(`http://127.0.0.1:${this.#port()}${path}`)
      if (rows === undefined) return false
      response.end()
      return true
    } catch (cause) {
      if (rows === undefined) throw cause
      // By O2: the reader sees that it breaks off.
      response.destroy()
      return true
    } finally {
      this.#awaited.delete(path)
    }
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const take = this.#awaited.get(request.url ?? '')
    if (take === undefined) {
      response.writeHead(404, { Connection: 'close' }).end()
      return
    }
    // The engine counts its rows as sent once it has this answer.
    request.once('end', () => response.end())
    request.once('error', () => response.destroy())
    take(request)
  }

  #port(): number {
    // A listening TCP server has an address with a port.
    return (this.#server.address() as AddressInfo).port
  }
}
