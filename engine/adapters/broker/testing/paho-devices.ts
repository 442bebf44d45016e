// For tests: devices that are written with paho for Python, all in one process.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { PASSWORD, until } from './fake-host.ts'

type Properties = Readonly<Record<string, unknown>>

export interface PahoEvent {
  readonly event: 'connack' | 'disconnect' | 'suback' | 'unsuback' | 'published' | 'message'
  readonly reason?: number
  readonly reasons?: readonly number[]
  readonly sessionPresent?: boolean
  readonly mid?: number
  readonly topic?: string
  readonly text?: string
  readonly qos?: number
  readonly retain?: boolean
  readonly dup?: boolean
  readonly properties?: Properties
}

export interface PahoConnect {
  readonly clean?: boolean
  readonly keepalive?: number
  /** True if the test acknowledges what comes, by `ack`. */
  readonly manual?: boolean
  readonly will?: Readonly<Record<string, unknown>>
  /** Properties of the CONNECT. */
  readonly connect?: Properties
}

interface SubscribeOptions {
  readonly qos: number
  readonly noLocal?: boolean
  readonly retainAsPublished?: boolean
  readonly retainHandling?: number
}

export class PahoDevices {
  readonly #python: ChildProcessByStdio<Writable, Readable, null>
  readonly #devices = new Map<string, PahoDevice>()

  constructor(command: string, port: number) {
    const script = fileURLToPath(new URL('paho-devices.py', import.meta.url))
    this.#python = spawn(command, [script, `${port}`, PASSWORD], { stdio: ['pipe', 'pipe', 'inherit'] })
    createInterface({ input: this.#python.stdout }).on('line', (line) => {
      // The script's own lines.
      const { device, ...event } = JSON.parse(line) as PahoEvent & { readonly device: string }
      this.#devices.get(device)?.events.push(event)
    })
  }

  /** `version` is MQTT's protocol level: 4 or 5. */
  device(id: string, version: number, name = id): PahoDevice {
    const device = new PahoDevice(id, version, (order) =>
      this.#python.stdin.write(`${JSON.stringify({ ...order, device: name })}\n`),
    )
    this.#devices.set(name, device)
    return device
  }

  close(): void {
    this.#python.kill()
  }
}

export class PahoDevice {
  readonly events: PahoEvent[] = []
  readonly #id: string
  readonly #version: number
  readonly #tell: (order: object) => void

  constructor(id: string, version: number, tell: (order: object) => void) {
    this.#id = id
    this.#version = version
    this.#tell = tell
  }

  all(kind: PahoEvent['event']): readonly PahoEvent[] {
    return this.events.filter(({ event }) => event === kind)
  }

  messages(): readonly PahoEvent[] {
    return this.all('message')
  }

  /** Resolves to the `count`th event of its kind. */
  async seen(kind: PahoEvent['event'], count: number): Promise<PahoEvent> {
    await until(() => this.all(kind).length >= count, `${kind} ${count} of ${this.#id}`)
    return this.all(kind)[count - 1] ?? { event: kind }
  }

  /** Resolves to the CONNACK. */
  connect({ clean = true, keepalive = 60, ...more }: PahoConnect = {}): Promise<PahoEvent> {
    const order = { do: 'connect', id: this.#id, version: this.#version, clean, keepalive, ...more }
    return this.#ask(order, 'connack')
  }

  /** Resolves to the reasons of the SUBACK. */
  async subscribe(
    filters: Readonly<Record<string, SubscribeOptions>>,
    about: Properties = {},
  ): Promise<readonly number[] | undefined> {
    const { reasons } = await this.#ask(
      { do: 'subscribe', filters: Object.entries(filters), about },
      'suback',
    )
    return reasons
  }

  async unsubscribe(...topics: string[]): Promise<void> {
    await this.#ask({ do: 'unsubscribe', topics }, 'unsuback')
  }

  /** Resolves to the reason, once the message is acknowledged or, with QoS 0, sent. */
  async publish(topic: string, payload: string, more: object = {}): Promise<number | undefined> {
    return (await this.#ask({ do: 'publish', topic, payload, ...more }, 'published')).reason
  }

  /** Runs what is not answered in the usual way. */
  order(order: object): void {
    this.#tell(order)
  }

  ack({ mid, qos }: PahoEvent): void {
    this.#tell({ do: 'ack', mid, qos })
  }

  async disconnect(about: Properties = {}): Promise<void> {
    await this.#ask({ do: 'disconnect', about }, 'disconnect')
  }

  async drop(): Promise<void> {
    await this.#ask({ do: 'drop' }, 'disconnect')
  }

  #ask(order: object, answer: PahoEvent['event']): Promise<PahoEvent> {
    const count = this.all(answer).length + 1
    this.#tell(order)
    return this.seen(answer, count)
  }
}
