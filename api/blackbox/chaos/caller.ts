// One of several users of REST: reads and writes shadows, sends and watches commands, reads telemetry. Makes one call at
// a time, each at a node of its choice.
import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandStatus } from '../../../schemas/vocabulary.ts'
import { Client, type ClientOptions } from './client.ts'
import type { Call, CommandCall, DesireCall, ShadowState } from './recording.ts'

const PAUSE_MS = 120
const COMMAND_SEC = 15
const TRIES_MAX = 6
/** Most commands that a caller still watches. */
const WATCHED_MAX = 20

export interface CallerOptions extends ClientOptions {
  /** Devices whose shadows all callers write and read. */
  readonly contended: readonly string[]
  readonly devices: readonly string[]
}

export class Caller {
  readonly #options: CallerOptions
  readonly #client: Client
  /** The version that the caller saw last. */
  readonly #versions = new Map<string, number>()
  readonly #watched: { readonly device: string; readonly commandId: string }[] = []
  #made = 0
  #isStopped = false

  constructor(options: CallerOptions) {
    this.#options = options
    this.#client = new Client(options)
  }

  stop(): void {
    this.#isStopped = true
  }

  async run(): Promise<void> {
    while (!this.#isStopped) {
      await this.#callOnce()
      await sleep(this.#options.dice() * PAUSE_MS)
    }
  }

  #callOnce(): Promise<void> {
    const { contended, devices } = this.#options
    const choice = this.#options.dice()
    if (choice < 0.3) return this.#desire(this.#client.pick(contended))
    if (choice < 0.55) return this.#readShadow(this.#client.pick(contended))
    if (choice < 0.7) return this.#readSnapshot(this.#client.pick(contended))
    const watched = this.#watched.length === 0 ? undefined : this.#client.pick(this.#watched)
    if (watched === undefined || choice < 0.82) return this.#command(this.#client.pick(devices))
    return choice < 0.96 ? this.#look('look', watched) : this.#look('cancel', watched)
  }

  async #desire(device: string): Promise<void> {
    const { name, dice } = this.#options
    const known = this.#versions.get(device)
    const expected = dice() < 0.6 ? known : undefined
    const call: DesireCall = {
      kind: 'desire',
      value: `${name}.${this.#made++}`,
      ...this.#client.begin(device),
      ...(expected === undefined ? {} : { expected }),
    }
    const headers = expected === undefined ? {} : { 'if-match': `"${expected}"` }
    const path = `/shadows/${device}/desired`
    const answer = await this.#client.ask(call, { method: 'PUT', path, body: { value: call.value }, headers })
    if (answer === undefined) return
    const version = answer.status === 200 ? answer.body['version'] : answer.body['expected']
    if (typeof version !== 'number') return
    call.version = version
    this.#versions.set(device, version)
  }

  async #readShadow(device: string): Promise<void> {
    const call: Call = { kind: 'shadow', ...this.#client.begin(device) }
    const answer = await this.#client.ask(call, { method: 'GET', path: `/shadows/${device}` })
    if (answer?.status !== 200) return
    call.seen = toShadowState(answer.body)
    this.#versions.set(device, call.seen.version)
  }

  async #readSnapshot(device: string): Promise<void> {
    const call: Call = { kind: 'snapshot', ...this.#client.begin(device) }
    const answer = await this.#client.ask(call, { method: 'GET', path: `/telemetry/${device}` })
    if (answer?.status !== 200) return
    // The answer has the type of its schema.
    const { timed, plain } = answer.body['data'] as { readonly timed?: number; readonly plain?: number }
    if (timed !== undefined) call.timed = timed
    if (plain !== undefined) call.plain = plain
  }

  /** Sends half of the commands with an Idempotency-Key, again and again until there is an answer; they are one command. */
  async #command(device: string): Promise<void> {
    const { name, dice } = this.#options
    const token = `${name}:${this.#made++}`
    const isKeyed = dice() < 0.5
    for (let tries = isKeyed ? TRIES_MAX : 1; tries > 0; tries--) {
      if (await this.#commandOnce(device, token, isKeyed ? { 'idempotency-key': token } : {})) return
      await this.#client.wait()
    }
  }

  /** Whether there was an answer. */
  async #commandOnce(
    device: string,
    token: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<boolean> {
    const call: CommandCall = { kind: 'command', token, ...this.#client.begin(device) }
    const body = { command: 'do', data: { token }, timeout_sec: COMMAND_SEC }
    const answer = await this.#client.ask(call, {
      method: 'POST',
      path: `/commands/${device}`,
      body,
      headers,
    })
    const commandId = answer?.body['command_id']
    if (answer === undefined || typeof commandId !== 'string') return false
    call.commandId = commandId
    call.seen = statusOf(answer)
    this.#watched.push({ device, commandId })
    if (this.#watched.length > WATCHED_MAX) this.#watched.shift()
    return true
  }

  async #look(
    kind: 'look' | 'cancel',
    { device, commandId }: { readonly device: string; readonly commandId: string },
  ): Promise<void> {
    const call: CommandCall = { kind, commandId, ...this.#client.begin(device) }
    const method = kind === 'look' ? 'GET' : 'DELETE'
    const answer = await this.#client.ask(call, { method, path: `/commands/${device}/${commandId}` })
    if (answer?.status === 200) call.seen = statusOf(answer)
  }
}

export function toShadowState(body: Readonly<Record<string, unknown>>): ShadowState {
  // The answer has the type of its schema, and our own clients wrote its fields.
  const { version, desired, reported } = body as {
    readonly version: number
    readonly desired: { readonly value?: string }
    readonly reported: { readonly report?: number }
  }
  return {
    version,
    ...(desired.value === undefined ? {} : { desired: desired.value }),
    ...(reported.report === undefined ? {} : { reported: reported.report }),
  }
}

function statusOf({ body }: { readonly body: Readonly<Record<string, unknown>> }): CommandStatus {
  // The answer has the type of its schema.
  return body['status'] as CommandStatus
}
