// A rosbridge server with a simulated robot. Its topics publish in turn, each at `HZ`.
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { sleep } from '../measure/deadline.ts'

/** Messages per second of each topic. */
export const HZ = 50
/** After this time, everything that was published has been read. */
const READ_MS = 500

export class Robot {
  readonly url: string
  /** Resolves once all topics have been subscribed to for the first time. */
  readonly subscribed: Promise<void>
  /** How often the client has published each text. */
  readonly heard = new Map<string, number>()
  readonly #server: WebSocketServer
  readonly #topics: number
  #said = 0
  #isAway = false
  #timer: NodeJS.Timeout | undefined

  private constructor(server: WebSocketServer, topics: number) {
    this.#server = server
    this.#topics = topics
    // It listens on TCP, so its address is an object.
    this.url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
    this.subscribed = new Promise((resolve) => {
      server.on('connection', (socket) => this.#meet(socket, resolve))
    })
  }

  static async open(topics: number): Promise<Robot> {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
    await new Promise((resolve) => server.once('listening', resolve))
    return new Robot(server, topics)
  }

  /** Number of messages published so far. */
  get said(): number {
    return this.#said
  }

  /** Resolves once everything published has been read. */
  async fallSilent(): Promise<void> {
    clearInterval(this.#timer)
    await sleep(READ_MS)
  }

  /** Closes the connection, and accepts no other one for this long. */
  async leave(ms: number): Promise<void> {
    await this.fallSilent()
    this.#isAway = true
    for (const socket of this.#server.clients) socket.terminate()
    await sleep(ms)
    this.#isAway = false
  }

  close(): void {
    clearInterval(this.#timer)
    for (const socket of this.#server.clients) socket.terminate()
    this.#server.close()
  }

  #meet(socket: WebSocket, subscribed: () => void): void {
    if (this.#isAway) {
      socket.terminate()
      return
    }
    const topics = new Set<unknown>()
    socket.on('message', (data) => {
      const { op, topic, msg }: Record<string, unknown> = JSON.parse(String(data))
      if (op === 'publish') this.#hear(String(Reflect.get(Object(msg), 'data')))
      if (op !== 'subscribe' || topics.has(topic)) return
      if (topics.add(topic).size < this.#topics) return
      this.#speak(socket)
      subscribed()
    })
  }

  #hear(text: string): void {
    this.heard.set(text, (this.heard.get(text) ?? 0) + 1)
  }

  #speak(socket: WebSocket): void {
    clearInterval(this.#timer)
    const perSec = HZ * this.#topics
    const [startedAt, startedMs] = [performance.now(), Date.now()]
    let said = 0
    this.#timer = setInterval(() => {
      const due = Math.floor(((performance.now() - startedAt) * perSec) / 1_000)
      // Messages of a topic have different times, even if several are published late at once.
      for (; said < due; said++)
        socket.send(
          messageOf(`/battery_${said % this.#topics}`, this.#said++, startedMs + (said * 1_000) / perSec),
        )
    }, 1)
  }
}

/** A sensor_msgs/BatteryState, with all of its fields. */
function messageOf(topic: string, count: number, atMs: number): string {
  const stamp = { sec: Math.floor(atMs / 1_000), nanosec: Math.round((atMs % 1_000) * 1_000) * 1_000 }
  const msg = {
    header: { stamp, frame_id: 'base' },
    ...{ voltage: 24.5, temperature: 31.25, current: -1.5, charge: count, capacity: 10, design_capacity: 12 },
    percentage: (count % 100) / 100,
    ...{ power_supply_status: 2, power_supply_health: 1, power_supply_technology: 2, present: true },
    ...{ cell_voltage: [4.1, 4.1, 4.08, 4.11], cell_temperature: [30, 31, 31, 30] },
    ...{ location: 'slot 1', serial_number: 'B-17' },
  }
  return JSON.stringify({ op: 'publish', topic, msg })
}
