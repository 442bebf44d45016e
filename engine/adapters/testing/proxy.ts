// For tests: a TCP proxy that can cut, deafen, refuse, delay and freeze the connections between clients and a server.
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** Bytes buffered per direction. With more, the sender is not read any further. */
const HELD_BYTES_MAX = 1 << 20

export class CutProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #ways = new Set<Way>()
  /** Address as `host:port`, called for each connection. */
  target: () => string
  /** Discards answers while set. */
  isDeaf = false
  /** Refuses new connections while set. */
  isClosed = false
  /** Delay of each direction in milliseconds. */
  delayMs = 0
  #isFrozen = false

  private constructor(server: Server, target: () => string) {
    this.#server = server
    this.target = target
  }

  static async open(target: string | (() => string)): Promise<CutProxy> {
    const server = createServer({ allowHalfOpen: true })
    const proxy = new CutProxy(server, typeof target === 'string' ? () => target : target)
    server.on('connection', (client) => {
      if (proxy.isClosed) return void client.destroy()
      const [host = '', port = ''] = proxy.target().split(':')
      proxy.#join(client, connect({ port: Number(port), host, allowHalfOpen: true, noDelay: true }))
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

  /** Holds all bytes back while set. None are lost. */
  set isFrozen(isFrozen: boolean) {
    this.#isFrozen = isFrozen
    for (const way of this.#ways) way.move()
  }

  get isFrozen(): boolean {
    return this.#isFrozen
  }

  /** Destroys all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  close(): void {
    this.#server.close()
    this.cut()
  }

  #join(client: Socket, server: Socket): void {
    const ends = [client, server] as const
    client.setNoDelay(true)
    const ways = [
      new Way(this, client, server, () => false),
      new Way(this, server, client, () => this.isDeaf),
    ]
    for (const way of ways) this.#ways.add(way)
    for (const socket of ends) {
      this.#sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        this.#sockets.delete(socket)
        for (const end of ends) end.destroy()
        for (const way of ways) this.#ways.delete(way)
      })
    }
  }
}

/** One direction of one connection. */
class Way {
  readonly #proxy: Pick<CutProxy, 'delayMs' | 'isFrozen'>
  readonly #from: Socket
  readonly #to: Socket
  readonly #held: { readonly bytes: Buffer; readonly dueAt: number }[] = []
  #heldBytes = 0
  #isEnded = false
  #timer: NodeJS.Timeout | undefined

  constructor(
    proxy: Pick<CutProxy, 'delayMs' | 'isFrozen'>,
    from: Socket,
    to: Socket,
    isThrownAway: () => boolean,
  ) {
    this.#proxy = proxy
    this.#from = from
    this.#to = to
    from.on('data', (bytes: Buffer) => {
      if (isThrownAway()) return
      this.#held.push({ bytes, dueAt: performance.now() + proxy.delayMs })
      this.#heldBytes += bytes.length
      if (this.#heldBytes > HELD_BYTES_MAX) from.pause()
      this.move()
    })
    from.on('end', () => {
      this.#isEnded = true
      this.move()
    })
    to.on('drain', () => this.move())
  }

  move(): void {
    clearTimeout(this.#timer)
    if (this.#proxy.isFrozen) return
    for (let next = this.#held[0]; next !== undefined; next = this.#held[0]) {
      const early = next.dueAt - performance.now()
      if (early > 0) {
        this.#timer = setTimeout(() => this.move(), early)
        return
      }
      if (this.#to.writableNeedDrain) return
      this.#held.shift()
      this.#heldBytes -= next.bytes.length
      if (!this.#to.destroyed) this.#to.write(next.bytes)
    }
    if (this.#from.isPaused()) this.#from.resume()
    if (this.#isEnded && !this.#to.destroyed) this.#to.end()
  }
}
