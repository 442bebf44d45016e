// Keep-alive HTTP/1.1 connections on raw sockets. With node:http the generator would need several times as much CPU.
import { connect, type Socket } from 'node:net'
import { ticks } from '../measure/deadline.ts'

export interface RestTarget {
  readonly httpUrl: string
  readonly token: string
}

export interface LineRequest {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  /** The body as JSON text. */
  readonly body?: string
  readonly ifMatch?: string
}

export interface LineReply {
  readonly status: number
  readonly text: string
  /** Time at which the last byte was read. */
  readonly at: number
}

interface PendingLine {
  readonly bytes: string
  resolve(reply: LineReply): void
  reject(error: Error): void
}

/** Sends one request at a time on each connection. A request waits until one is free. */
export class RestLines {
  readonly #host: string
  readonly #headers: string
  readonly #lines: Line[] = []
  readonly #free: Line[] = []
  readonly #waiting: PendingLine[] = []

  static async open({ httpUrl, token }: RestTarget, count: number): Promise<RestLines> {
    const { host, hostname, port } = new URL(httpUrl)
    const lines = new RestLines(host, token)
    await Promise.all(Array.from({ length: count }, () => lines.#dial(hostname, Number(port))))
    return lines
  }

  private constructor(host: string, token: string) {
    this.#host = host
    this.#headers = `Host: ${host}\r\nAuthorization: Bearer ${token}\r\n`
  }

  send({ method, path, body, ifMatch }: LineRequest): Promise<LineReply> {
    const condition = ifMatch === undefined ? '' : `If-Match: ${ifMatch}\r\n`
    const content =
      body === undefined
        ? '\r\n'
        : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    const bytes = `${method} ${path} HTTP/1.1\r\n${this.#headers}${condition}${content}`
    return new Promise((resolve, reject) => {
      const waiting = { bytes, resolve, reject }
      const line = this.#free.pop()
      if (line === undefined) this.#waiting.push(waiting)
      else line.ask(waiting)
    })
  }

  close(): void {
    for (const line of this.#lines) line.close()
    for (const { reject } of this.#waiting.splice(0)) reject(new Error(`${this.#host}: closed`))
  }

  #dial(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        const line = new Line(socket, () => {
          const next = this.#waiting.shift()
          if (next === undefined) this.#free.push(line)
          else line.ask(next)
        })
        this.#lines.push(line)
        this.#free.push(line)
        resolve()
      })
    })
  }
}

class Line {
  readonly #socket: Socket
  readonly #onFree: () => void
  #asked: PendingLine | undefined
  #rest: Buffer = Buffer.alloc(0)

  constructor(socket: Socket, onFree: () => void) {
    this.#socket = socket
    this.#onFree = onFree
    socket.on('data', (bytes: Buffer) => this.#onBytes(bytes))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the service closed a connection')))
  }

  ask(waiting: PendingLine): void {
    if (this.#socket.destroyed) {
      waiting.reject(new Error('the service closed a connection'))
      return
    }
    this.#asked = waiting
    this.#socket.write(waiting.bytes)
  }

  close(): void {
    this.#socket.destroy()
  }

  #onBytes(bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    const reply = parseReply(this.#rest)
    if (reply === undefined) return
    const asked = this.#asked
    this.#asked = undefined
    this.#rest = Buffer.alloc(0)
    this.#onFree()
    asked?.resolve({ ...reply, at: ticks() })
  }

  #fail(error: Error): void {
    this.#asked?.reject(error)
    this.#asked = undefined
    this.#socket.destroy()
  }
}

/** Returns the whole reply, or undefined while some of it is missing. The service always sends a length. */
export function parseReply(bytes: Buffer): Omit<LineReply, 'at'> | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const head = bytes.toString('latin1', 0, end)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`a reply without a length: ${head.slice(0, 200)}`)
  const start = end + 4
  const stop = start + Number(length)
  if (bytes.length < stop) return undefined
  return { status: Number(head.slice(9, 12)), text: bytes.toString('utf8', start, stop) }
}
