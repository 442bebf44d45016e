// The service of /ws on an in-memory engine, for tests: users, devices that send messages, and a clock that only the test
// moves.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { MemoryDevice } from '../../../engine/adapters/broker/testing/memory-device.ts'
import type { DeviceRequest } from '../../../engine/domain/device/events.ts'
import type { User } from '../../../engine/ports/users.ts'
import { StandingTime } from '../../../engine/testing/standing-time.ts'
import { CommandId, type DeviceId, Millis, parseDeviceId, UserId } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Authentication } from '../../auth/authenticate.ts'
import { API_LIMITS } from '../../limits.ts'
import { createWorkBudget } from '../../rates/work-budget.ts'
import { MemoryEngine } from '../../testing/memory-engine.ts'
import { openSockets, type Sockets, type SocketsOptions } from '../sockets.ts'
import { GatedFeed } from './gated-feed.ts'
import { type Dial, dial, type RawClient } from './raw-client.ts'

export const START = Millis(Date.UTC(2026, 0, 1))

export function id(text: string): DeviceId {
  const parsed = parseDeviceId(text)
  if (parsed === undefined) throw new Error(`not a device id: ${text}`)
  return parsed
}

/** Rows wait at most a second to fill a block, and the leader checks the fleet every half second. */
const SETTLE_STEP_MS = 500
const SETTLE_ROUNDS = 4
const SETTLE_TURNS = 30

type Registration = Partial<Omit<Extract<DeviceRequest, { kind: 'register' }>, 'kind'>>
type Edit = Partial<Omit<Extract<DeviceRequest, { kind: 'edit' }>, 'kind'>>

export class SocketFleet {
  readonly time = new StandingTime(START)
  readonly engine = gated(new MemoryEngine(this.time))
  readonly tickets = new Map<string, string>()
  readonly #sessions = new Map<string, MemoryDevice>()

  get wanted() {
    return this.engine.feed.wanted
  }

  /** Registers a device. It connects when it first sends something. */
  addDevice(name: string, about: Registration = {}): Promise<void> {
    return this.submit(name, { kind: 'register', name, type: 'mqtt_device', ...about })
  }

  /** Adds or replaces a user. */
  addUser(name: string, about: Partial<User> = {}): void {
    void this.engine.users.put({
      id: UserId(`usr_${name}`),
      email: `${name}@example.com`,
      name,
      role: 'admin',
      groups: [],
      passwordHash: '',
      disabled: false,
      createdAt: START,
      lastLoginAt: undefined,
      tokensValidFrom: START,
      ...about,
    })
  }

  edit(name: string, about: Edit): Promise<void> {
    return this.submit(name, { kind: 'edit', replace: false, ...about })
  }

  desire(name: string, patch: JsonObject): Promise<void> {
    return this.submit(name, { kind: 'desire', patch, mode: 'merge' })
  }

  command(name: string, command: string): Promise<void> {
    const wish = { name: 'go', timeoutSec: 600 }
    return this.submit(name, { kind: 'command', id: CommandId(command), wish })
  }

  /** Resolves once its event has been sent. */
  async submit(name: string, request: DeviceRequest): Promise<void> {
    await this.engine.opened
    const outcome = await this.engine.submit(id(name), request, { by: { kind: 'user', id: 'usr_a' } })
    if (outcome.kind !== 'done') throw new Error(`not done: ${JSON.stringify(outcome)}`)
  }

  async connect(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      this.#sessions.set(name, await this.engine.connect(id(name)))
      await this.#untilProcessed(name)
    }
  }

  report(name: string, data: JsonObject): Promise<void> {
    return this.publish(name, 'telemetry', data)
  }

  /** Sends messages of a device in one batch. Resolves once their events have been sent. */
  publish(name: string, suffix: string, ...messages: readonly JsonObject[]): Promise<void> {
    return this.publishText(name, suffix, ...messages.map((message) => JSON.stringify(message)))
  }

  async publishText(name: string, suffix: string, ...texts: readonly string[]): Promise<void> {
    if (!this.#sessions.has(name)) await this.connect(name)
    const session = this.#sessions.get(name)
    await Promise.all(texts.map((text) => session?.publish(`fleet/${name}/${suffix}`, text)))
    await this.#untilProcessed(name)
  }

  /** Advances the time until rows are stored and the leader has checked the fleet. */
  async settle(): Promise<void> {
    for (let round = 0; round < SETTLE_ROUNDS; round++) {
      this.time.at += SETTLE_STEP_MS
      for (let turn = 0; turn < SETTLE_TURNS; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Waits until the actor has processed everything and its changes are saved, which takes one turn of the event loop. */
  async #untilProcessed(name: string): Promise<void> {
    await this.engine.view(id(name))
    await new Promise((resolve) => setImmediate(resolve))
  }

  /** A token is `<user>`, `<user>:<seconds to live>` or `<user>:never`. */
  authenticate = async (token: string): Promise<Authentication> => {
    const [name, seconds = '3600'] = token.split(':')
    const current = () => {
      const user = this.engine.users.get(UserId(`usr_${name}`))
      return user === undefined || user.disabled || user.tokensValidFrom > START ? undefined : user
    }
    const user = current()
    if (user === undefined) return { kind: 'refused', code: 'UNAUTHENTICATED', detail: {} }
    const expiresAt = seconds === 'never' ? undefined : Millis(this.time.now() + Number(seconds) * 1000)
    return { kind: 'user', user, expiresAt, current }
  }

  redeemTicket = async (ticket: string): Promise<Authentication> => {
    const token = this.tickets.get(ticket) ?? 'nobody'
    this.tickets.delete(ticket)
    return this.authenticate(token)
  }
}

type Hook = () => Promise<void>

/** Runs code before and after a method is first called. */
export function around<Port extends object>(
  port: Port,
  question: keyof Port & string,
  { before = async () => {}, after = async () => {} }: { before?: Hook; after?: Hook },
): void {
  const ask: unknown = port[question]
  if (typeof ask !== 'function') throw new Error(`${question} cannot be asked`)
  const asked = async (...about: readonly unknown[]) => {
    Object.assign(port, { [question]: ask.bind(port) })
    await before()
    const answer: unknown = await ask.apply(port, about)
    await after()
    return answer
  }
  Object.assign(port, { [question]: asked })
}

function gated(engine: MemoryEngine): MemoryEngine & { readonly feed: GatedFeed } {
  return Object.assign(engine, { feed: new GatedFeed(engine.feed) })
}

export interface SocketService {
  readonly fleet: SocketFleet
  readonly sockets: Sockets
  readonly port: number
  dial(about?: Partial<Dial>): Promise<RawClient>
  /** A client that is connected and logged in. */
  login(token: string): Promise<RawClient>
  close(): Promise<void>
}

export async function openSocketService(
  limits: Partial<{ readonly [Name in keyof typeof API_LIMITS]: number }> = {},
  options: Partial<SocketsOptions> = {},
): Promise<SocketService> {
  const fleet = new SocketFleet()
  const { engine, time } = fleet
  await engine.opened
  const sockets = await openSockets({
    engine,
    users: engine.users,
    authenticate: fleet.authenticate,
    redeemTicket: fleet.redeemTicket,
    clock: time,
    work: createWorkBudget({ perSec: 0, clock: time, shares: undefined }),
    schedule: time,
    limits: { ...API_LIMITS, ...limits },
    heartbeatTimeoutMs: 60_000,
    ...options,
  })
  const http = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => response.end(`${request.method} ${request.url} ${Buffer.concat(chunks)}`))
  })
  sockets.attach(http)
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve)
  })
  // A server that listens on TCP has such an address.
  const { port } = http.address() as AddressInfo
  const clients: RawClient[] = []
  const open = async (about: Partial<Dial> = {}) => {
    const client = await dial({ port, ...about })
    clients.push(client)
    return client
  }
  return {
    fleet,
    sockets,
    port,
    dial: open,
    login: async (token) => {
      const client = await open({ protocols: `fleet.v1, bearer.${token}` })
      await client.next('auth_ok')
      return client
    },
    close: async () => {
      for (const client of clients) client.close()
      await sockets.close()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}
