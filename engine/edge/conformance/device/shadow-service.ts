// Plays the part of the service for the shadow of the device under examination.
import { isObject, type JsonObject } from '../../../../schemas/json.ts'
import type { Broker } from './broker.ts'
import type { PublishedMessage } from './recording.ts'

export class ShadowService {
  readonly #broker: Broker
  #version = 1
  #desired: JsonObject = {}
  #reported: JsonObject = {}
  /** The number of the next reports to refuse as outdated. */
  refusesNext = 0

  constructor(broker: Broker) {
    this.#broker = broker
    broker.on('published', (message) => this.#take(message))
  }

  get version(): number {
    return this.#version
  }

  get reported(): JsonObject {
    return this.#reported
  }

  /** Changes the desired state and sends the delta once the device can receive it. */
  async desire(patch: JsonObject): Promise<void> {
    this.desireSilently(patch)
    await this.sendDelta()
  }

  desireSilently(patch: JsonObject): void {
    this.#version++
    this.#desired = { ...this.#desired, ...patch }
  }

  async sendDelta(): Promise<void> {
    await this.#broker.send('shadow/desired', this.message(this.#version, this.delta()))
  }

  /** Creates a message for `shadow/desired`. */
  message(version: number, state: JsonObject): JsonObject {
    return { version, state, metadata: {}, timestamp: new Date().toISOString() }
  }

  delta(): JsonObject {
    const reported = this.#reported
    const differs = ([name, value]: readonly [string, unknown]) =>
      JSON.stringify(reported[name] ?? null) !== JSON.stringify(value)
    return Object.fromEntries(Object.entries(this.#desired).filter(differs))
  }

  /** Clears the desired state, so that the next check is not affected. */
  forget(): void {
    this.#version++
    this.#desired = {}
  }

  #take({ topic, body, payload }: PublishedMessage): void {
    if (topic === this.#broker.topic('shadow/get')) this.#answer(body, payload)
    if (topic === this.#broker.topic('shadow/reported') && body !== undefined) this.#merge(body)
  }

  #merge(body: JsonObject): void {
    const { state, client_token: token, version } = body
    const isEnvelope = isObject(state)
    const patch = isEnvelope ? state : body
    const named = token === undefined ? {} : { client_token: token }
    const isOutdated = isEnvelope && typeof version === 'number' && version !== this.#version
    if (this.refusesNext > 0 || isOutdated) {
      this.refusesNext = Math.max(0, this.refusesNext - 1)
      const why = { status: 409, code: 'DEVICE_SHADOW_CONFLICT', detail: 'the shadow has changed' }
      this.#tell('shadow/reported/rejected', { ...why, expected: this.#version, ...named })
      return
    }
    const merged = { ...this.#reported, ...patch }
    this.#reported = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null))
    this.#version++
    this.#tell('shadow/reported/accepted', { version: this.#version, ...named })
  }

  #answer(body: JsonObject | undefined, payload: Buffer): void {
    const token = payload.length === 0 ? undefined : body?.['client_token']
    this.#tell('shadow/get/accepted', {
      ...{ version: this.#version, desired: this.#desired, reported: this.#reported },
      ...{ delta: this.delta(), metadata: { desired: {}, reported: {} } },
      ...(token === undefined ? {} : { client_token: token }),
    })
  }

  /** Sends the message only if the device has subscribed to it, since devices need not do so. */
  #tell(suffix: string, body: JsonObject): void {
    const topic = this.#broker.topic(suffix)
    const { current } = this.#broker
    if (current?.isSubscribedTo(topic) === true) current.send(topic, Buffer.from(JSON.stringify(body)))
  }
}
