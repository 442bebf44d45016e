// The context of one examination of a service: the tools for its checks, and the removal of everything that they
// created.

import { exec } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import { errorText } from '../../../../schemas/error-text.ts'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { parsePayload } from '../../payload.ts'
import { SkippedCheck, UnmetCheck } from '../verdict.ts'
import { type Answer, Rest, rowsOf } from './rest.ts'

export interface ServiceUnderTest {
  /** The origin of the service, such as `https://fleet.example.com`. */
  readonly url: string
  /** An access token or an API key of an admin. */
  readonly token: string
  /** The MQTT address. If undefined, the service is asked for it. */
  readonly mqttUrl: string | undefined
  /** A shell command that restarts the service. */
  readonly restartLine: string | undefined
  /** The local port that receives test webhooks. 0 chooses any free port. */
  readonly webhookPort: number
  readonly signal: AbortSignal
}

export interface Device {
  readonly id: string
  readonly token: string
}

export interface Session {
  readonly client: MqttClient
  readonly inbox: { readonly topic: string; readonly body: JsonObject | undefined }[]
  /** Returns the number of received messages, acknowledged or not. */
  received(): number
  publish(suffix: string, body: Json | string): Promise<void>
}

/** The limit is generous because a slow response on a busy machine is no fault of the service. */
const WAIT_MS_MAX = 60_000
const RESTART_MS_MAX = 120_000
const PURGE_MS_MAX = 180_000
const PURGE_CHECK_MS = 200

export class Run {
  readonly id = randomBytes(4).toString('hex')
  readonly group = `conformance/${this.id}`
  readonly rest: Rest
  readonly signal: AbortSignal
  readonly url: string
  /** Responses with a status of 5xx, which no request may cause. */
  readonly faults: Answer[] = []
  readonly webhookPort: number
  readonly #service: ServiceUnderTest
  readonly #mqttUrl: string
  readonly #undo: (() => Promise<unknown>)[] = []
  readonly #clients: MqttClient[] = []
  #devices = 0

  private constructor(service: ServiceUnderTest, mqttUrl: string) {
    this.signal = service.signal
    // Each wait of each device adds a listener, and removes it when the wait is over.
    setMaxListeners(0, service.signal)
    this.url = service.url.replace(/\/$/, '')
    this.webhookPort = service.webhookPort
    this.#service = service
    this.#mqttUrl = mqttUrl
    this.rest = new Rest(service.url, service.token, (answer) => {
      if (answer.status >= 500 && !hasNoImages(answer)) this.faults.push(answer)
    })
  }

  static async open(service: ServiceUnderTest): Promise<Run> {
    const probe = new Rest(service.url, service.token, () => undefined)
    const { body } = await probe.get('//readyz?verbose')
    const found = service.mqttUrl ?? body['mqtt_url']
    if (typeof found !== 'string')
      throw new RangeError('the service does not publish its MQTT address: use --mqtt-url')
    const { status } = await probe.get('/users?per_page=1')
    if (status !== 200) throw new RangeError(`the token is not an admin's: GET /users answers ${status}`)
    return new Run(service, found)
  }

  /** Registers a cleanup function. All of them run at the end, the newest first, even if checks fail. */
  atEnd(undo: () => Promise<unknown>): void {
    this.#undo.push(undo)
  }

  newId(): string {
    return `conf-${this.id}-${++this.#devices}`
  }

  async register(more: JsonObject = {}): Promise<Device> {
    const id = this.newId()
    const body = { device_id: id, name: id, type: 'mqtt_device', group: this.group, ...more }
    const made = await this.rest.post('/devices', body)
    expectStatus(made, 201, 'POST /devices')
    return { id, token: String(made.body['access_token']) }
  }

  async connect({ id, token }: Device, options: IClientOptions = {}): Promise<Session> {
    const client = mqtt.connect(this.#mqttUrl, {
      ...{ clientId: id, username: id, password: token, clean: true, reconnectPeriod: 0 },
      ...{ protocolVersion: 4, connectTimeout: WAIT_MS_MAX, ...options },
    })
    client.on('error', () => undefined)
    this.#clients.push(client)
    const inbox: { topic: string; body: JsonObject | undefined }[] = []
    const own = `fleet/${id}/`
    client.on('message', (topic, payload) => {
      inbox.push({ topic: topic.slice(own.length), body: parsePayload(payload) })
    })
    let received = 0
    client.on('packetreceive', ({ cmd }) => {
      if (cmd === 'publish') received++
    })
    // Listeners must be added before this wait, because queued messages can arrive in the same segment as the CONNACK.
    await untilConnected(client)
    const publish = async (suffix: string, body: Json | string) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      await client.publishAsync(own + suffix, text, { qos: 1, retain: suffix === 'status' })
    }
    return { client, inbox, publish, received: () => received }
  }

  async subscribe({ client }: Session, { id }: Device, ...suffixes: readonly string[]): Promise<void> {
    await client.subscribeAsync(
      suffixes.map((suffix) => `fleet/${id}/${suffix}`),
      { qos: 1 },
    )
  }

  /** Waits until `find` returns a value other than false. Throws `UnmetCheck` with the text `what` if it does not. */
  async until<T>(
    what: string,
    find: () => T | false | undefined | Promise<T | false | undefined>,
    withinMs: number = WAIT_MS_MAX,
  ): Promise<T> {
    for (const end = Date.now() + withinMs; ; ) {
      const found = await find()
      if (found !== undefined && found !== false) return found
      if (Date.now() > end) throw new UnmetCheck(`not seen within ${withinMs / 1_000} s: ${what}`)
      await sleep(50, undefined, { signal: this.signal })
    }
  }

  /** Restarts the service with the given shell command. Resolves once the service is ready again. */
  async restart(): Promise<void> {
    const { restartLine } = this.#service
    if (restartLine === undefined)
      throw new SkippedCheck('this needs a command that restarts the service (--restart)')
    await promisify(exec)(restartLine, { timeout: RESTART_MS_MAX, signal: this.signal })
    // This request bypasses `rest`, which would count the 503 of a starting service as a fault.
    const isReady = async () => (await fetch(`${this.url}/readyz`)).ok
    await this.until('the service is ready again', () => isReady().catch(() => false), RESTART_MS_MAX)
  }

  /** Removes everything that the checks created. Resolves with descriptions of what could not be removed. */
  async close(): Promise<readonly string[]> {
    await Promise.all(this.#clients.map((client) => client.endAsync(true).catch(() => undefined)))
    const left: string[] = []
    const attempt = (undo: () => Promise<unknown>) =>
      undo().catch((error: unknown) => {
        left.push(errorText(error))
      })
    for (const undo of this.#undo.toReversed()) await attempt(undo)
    left.push(...(await this.#purge()))
    return left
  }

  /** Purges the devices of the group repeatedly, because a gateway cannot be purged before its sub-devices. */
  async #purge(): Promise<readonly string[]> {
    const path = `/devices?group=${encodeURIComponent(this.group)}&per_page=200`
    for (const end = Date.now() + PURGE_MS_MAX; ; await sleep(PURGE_CHECK_MS)) {
      const { body } = await this.rest.get(path)
      const devices = rowsOf(body)
      if (devices.length === 0) return []
      if (Date.now() > end) return devices.map((device) => JSON.stringify(device))
      const next = devices.filter(({ status_reason: reason }) => reason !== 'purged')
      await Promise.all(
        next.map(({ device_id: id }) => this.rest.call('DELETE', `/devices/${id}?purge=true`)),
      )
    }
  }
}

/** Resolves once the client is connected. Rejects if the broker refuses it or the connection ends first. */
async function untilConnected(client: MqttClient): Promise<void> {
  await new Promise<unknown>((resolve, reject) => {
    client.once('connect', resolve)
    client.once('error', reject)
    client.once('close', () => reject(new Error('the connection ended before it was accepted')))
  })
}

/** Returns true if the service refused because it has no storage for images. A cluster without S3 is configured that
 *  way on purpose. */
export function hasNoImages({ status, body }: Answer): boolean {
  return status === 503 && body['dependency'] === 'blobs'
}

export function expectSuccess(answer: Answer, what: string): void {
  if (answer.status >= 300) throw new UnmetCheck(`${what} is answered ${answer.status}`, answer.body)
}

export function expectStatus(answer: Answer, wanted: number, what: string): void {
  if (answer.status !== wanted)
    throw new UnmetCheck(`${what} is answered ${answer.status}, not ${wanted}`, answer.body)
}
