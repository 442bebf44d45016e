// For tests: a TCP connection that can be cut, deafened and refused between a client and its server.
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

export class CutProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** Answers are thrown away while it is set. */
  isDeaf = false
  /** Nobody gets through while it is set. */
  isClosed = false

  private constructor(server: Server) {
    this.#server = server
  }

  static async open(target: string): Promise<CutProxy> {
    const [host = '', port = ''] = target.split(':')
    const server = createServer()
    const proxy = new CutProxy(server)
    server.on('connection', (client) => {
      if (proxy.isClosed) return void client.destroy()
      proxy.#join(client, connect(Number(port), host))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get url(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('not listening')
    return `127.0.0.1:${address.port}`
  }

  /** Ends every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  close(): void {
    this.#server.close()
    this.cut()
  }

  #join(client: Socket, server: Socket): void {
    const ends = [client, server] as const
    for (const socket of ends) {
      this.#sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        this.#sockets.delete(socket)
        for (const end of ends) end.destroy()
      })
    }
    client.on('data', (bytes) => server.write(bytes))
    server.on('data', (bytes) => {
      if (!this.isDeaf) client.write(bytes)
    })
  }
}
