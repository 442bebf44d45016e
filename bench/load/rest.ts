// The REST requests of the bench. They log in as an admin, register devices quickly, and read history.
import { Agent, request } from 'node:http'
import { sleep } from '../measure/deadline.ts'
import type { DeviceLogin } from './device-socket.ts'

/** Number of requests in flight. */
const IN_FLIGHT = 64
const REQUEST_MS = 60_000
const THROTTLED = 429
const ATTEMPTS_MAX = 100

export interface Reply {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly text: string
}

/** The `count` of a bucket is the number of distinct points in it. */
export interface HistoryQuery {
  readonly deviceId: string
  readonly metric: string
  readonly from: Date
  readonly to: Date
  readonly interval: string
}

export class Rest {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT })
  readonly #base: string
  #token = ''

  constructor(httpUrl: string) {
    this.#base = httpUrl.replace(/\/$/, '')
  }

  get token(): string {
    return this.#token
  }

  /** Registers the admin unless it exists, and logs in. */
  async login(): Promise<void> {
    const login = { email: 'bench@fleet.example', password: 'bench-password-1' }
    const account = { ...login, name: 'Bench', role: 'admin' }
    const registered = await this.#send('POST', '/api/v1/auth/register', account)
    if (registered.status !== 201 && registered.status !== 409) throw refused('register', registered)
    const reply = await this.#send('POST', '/api/v1/auth/login', login)
    if (reply.status !== 200) throw refused('login', reply)
    this.#token = String(field(JSON.parse(reply.text), 'access_token'))
  }

  /** Registers these devices and resolves with their tokens, in order. */
  register(ids: readonly string[], group = 'bench'): Promise<readonly DeviceLogin[]> {
    return this.registerAs(ids, (id) => ({ device_id: id, name: id, type: 'mqtt_device', group }))
  }

  /** Registers a device for each of these bodies and resolves with the tokens. */
  async registerAs(
    ids: readonly string[],
    toDevice: (id: string, at: number) => object,
  ): Promise<readonly DeviceLogin[]> {
    const places = new Map(ids.map((id, at) => [id, at]))
    return this.#each(ids, async (id) => {
      const device = toDevice(id, places.get(id) ?? 0)
      const reply = await this.#send('POST', '/api/v1/devices', device)
      if (reply.status !== 201) throw refused(id, reply)
      return { id, token: String(field(JSON.parse(reply.text), 'access_token')) }
    })
  }

  async onlineCount(): Promise<number> {
    return Number(field(await this.#getJson('/api/v1/devices?status=online&per_page=1'), 'total'))
  }

  /** Resolves with the number of stored points of a metric for each device, in order. */
  async countPoints(
    ids: readonly string[],
    query: Omit<HistoryQuery, 'deviceId'>,
  ): Promise<readonly number[]> {
    return this.#each(ids, (deviceId) => this.countOf({ ...query, deviceId }), 8)
  }

  async countOf(query: HistoryQuery): Promise<number> {
    const data = field(await this.history(query), 'data')
    if (!Array.isArray(data)) throw new Error('history without data')
    return data.reduce((sum: number, bucket: unknown) => sum + Number(field(bucket, 'count')), 0)
  }

  history({ deviceId, metric, from, to, interval }: HistoryQuery): Promise<unknown> {
    const search = new URLSearchParams({ metric, interval, from: from.toISOString(), to: to.toISOString() })
    return this.#getJson(`/api/v1/telemetry/${deviceId}/history?${search}`)
  }

  /** Resolves with the number of entries in a shadow's history. */
  async shadowChanges(deviceId: string): Promise<number> {
    return Number(field(await this.#getJson(`/api/v1/shadows/${deviceId}/history?per_page=1`), 'total'))
  }

  /** Sends a command to a group and resolves with the broadcast's id. */
  async broadcast(group: string, command: string): Promise<string> {
    const reply = await this.#send('POST', '/api/v1/commands/$broadcast', { group, command, timeout_sec: 60 })
    if (reply.status !== 202) throw refused('broadcast', reply)
    return String(field(JSON.parse(reply.text), 'broadcast_id'))
  }

  /** Resolves with the number of completed commands of a broadcast. */
  async completedOf(broadcastId: string): Promise<number> {
    const state = await this.#getJson(`/api/v1/commands/$broadcast/${broadcastId}?per_page=1`)
    return Number(field(field(state, 'counts'), 'completed'))
  }

  /** Resolves with the metrics as Prometheus text, or with an empty text if there are none. */
  async metrics(): Promise<string> {
    const reply = await this.#send('GET', '/metrics')
    return reply.status === 200 ? reply.text : ''
  }

  /** Resolves with the body of a GET and rejects if it fails. */
  async text(path: string): Promise<string> {
    const reply = await this.#send('GET', path)
    if (reply.status !== 200) throw refused(path, reply)
    return reply.text
  }

  /** Sends a POST with this body and resolves with the text of the answer. */
  async post(path: string, body: object): Promise<string> {
    const reply = await this.#send('POST', path, body)
    if (reply.status >= 300) throw refused(path, reply)
    return reply.text
  }

  async remove(path: string): Promise<void> {
    const reply = await this.#send('DELETE', path)
    if (reply.status !== 204) throw refused(path, reply)
  }

  close(): void {
    this.#agent.destroy()
  }

  async #getJson(path: string): Promise<unknown> {
    return JSON.parse(await this.text(path))
  }

  async #each<T, R>(
    items: readonly T[],
    work: (item: T) => Promise<R>,
    atOnce = IN_FLIGHT,
  ): Promise<readonly R[]> {
    const results: R[] = []
    let next = 0
    const some = async (): Promise<void> => {
      for (let at = next++; at < items.length; at = next++) {
        const item = items[at]
        if (item !== undefined) results[at] = await work(item)
      }
    }
    await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, some))
    return results
  }

  // If the service refuses a request because of its rate, this waits for as long as the service demands and tries again.
  async #send(method: string, path: string, body?: unknown): Promise<Reply> {
    for (let attempt = 1; ; attempt++) {
      const reply = await this.#once(method, path, body)
      if (reply.status !== THROTTLED || attempt === ATTEMPTS_MAX) return reply
      await sleep(1000 * Number(reply.headers['retry-after'] ?? 1))
    }
  }

  #once(method: string, path: string, body: unknown): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
      const headers = {
        ...(this.#token === '' ? {} : { Authorization: `Bearer ${this.#token}` }),
        ...(bytes === undefined
          ? {}
          : { 'Content-Type': 'application/json', 'Content-Length': bytes.length }),
      }
      const sent = request(`${this.#base}${path}`, {
        method,
        agent: this.#agent,
        headers,
        timeout: REQUEST_MS,
      })
      sent.on('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer`)))
      sent.on('error', reject)
      sent.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
        })
      })
      sent.end(bytes)
    })
  }
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !(name in value))
    throw new Error(`answer without ${name}`)
  return Reflect.get(value, name)
}

function refused(what: string, { status, text }: Reply): Error {
  return new Error(`${what}: ${status} ${text.slice(0, 300)}`)
}
