// For tests: a small rosbridge v2 server, which knows the operations that the bridge uses and keeps what it was sent. It
// knows no ROS: topics, services and actions are what a test makes of them.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'

export type Frame = Readonly<Record<string, unknown>>

export class SmallRosbridge {
  readonly #frames: Frame[] = []
  readonly #sockets = new Set<WebSocket>()
  readonly #answers = new Map<string, (frame: Frame, reply: (answer: Frame) => void) => void>()
  #server: WebSocketServer | undefined
  #port = 0
  #connections = 0

  get url(): string {
    return `ws://127.0.0.1:${this.#port}`
  }

  /** How many sockets there were. */
  get connections(): number {
    return this.#connections
  }

  /** Starts on the port of an earlier start. */
  async start(): Promise<void> {
    const server = new WebSocketServer({ port: this.#port, host: '127.0.0.1' })
    this.#server = server
    server.on('connection', (socket) => {
      this.#connections++
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
      socket.on('message', (data) => this.#take(socket, JSON.parse(String(data))))
    })
    await once(server, 'listening')
    // The server listens on TCP, so its address is an object.
    this.#port = (server.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.terminate()
    const server = this.#server
    this.#server = undefined
    if (server !== undefined) await new Promise((resolve) => server.close(resolve))
  }

  /** Breaks all sockets; new ones are taken. */
  cut(): void {
    for (const socket of this.#sockets) socket.terminate()
  }

  /** Frames with this operation, about this topic, service or action. */
  sent(op: string, name: string): readonly Frame[] {
    return this.#frames.filter(
      (frame) => frame['op'] === op && [frame['topic'], frame['service'], frame['action']].includes(name),
    )
  }

  /** Frames with this operation about `name` are answered by `answer`; `reply` sends a frame. */
  on(op: string, name: string, answer: (frame: Frame, reply: (answer: Frame) => void) => void): void {
    this.#answers.set(`${op} ${name}`, answer)
  }

  /** Sends a message to all who are connected. */
  publish(topic: string, msg: unknown): void {
    this.send(JSON.stringify({ op: 'publish', topic, msg }))
  }

  send(text: string): void {
    for (const socket of this.#sockets) socket.send(text)
  }

  #take(socket: WebSocket, frame: Frame): void {
    this.#frames.push(frame)
    const name = frame['topic'] ?? frame['service'] ?? frame['action']
    this.#answers.get(`${frame['op']} ${name}`)?.(frame, (answer) => socket.send(JSON.stringify(answer)))
  }
}
