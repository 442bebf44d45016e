// One user of REST among several: reads and writes shadows, sends and watches commands, looks at telemetry. One call
// at a time, each at a node of its own choice.
import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandStatus } from '../../schemas/vocabulary.ts'
import type { Random } from '../simulator/random.ts'
import type { Call, CommandCall, DesireCall, Recorder, ShadowState } from './recording.ts'

const ANSWER_MS = 12_000
const PAUSE_MS = 120
/** Before it calls again when there was no answer. */
const AWAY_MS = 300
const COMMAND_SEC = 15
const TRIES_MAX = 6
/** Of commands a caller still looks at. */
const WATCHED_MAX = 20
const TEXT_KEPT = 300

export interface ApiNode {
  readonly name: string
  readonly url: () => string
}

export interface CallerOptions {
  readonly name: string
  readonly token: string
  readonly nodes: readonly ApiNode[]
  /** Whose shadows are written and read by all callers. */
  readonly contended: readonly string[]
  readonly devices: readonly string[]
  readonly dice: Random
  readonly recorder: Recorder
}

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly text: string
}

interface Request {
  readonly method: string
  readonly path: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

export class Caller {
  readonly #options: CallerOptions
  /** The version it saw last. */
  readonly #versions = new Map<string, number>()
  readonly #watched: { readonly device: string; readonly commandId: string }[] = []
  #made = 0
  #isStopped = false

  constructor(options: CallerOptions) {
    this.#options = options
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
    if (choice < 0.3) return this.#desire(this.#pick(contended))
    if (choice < 0.55) return this.#readShadow(this.#pick(contended))
    if (choice < 0.7) return this.#readSnapshot(this.#pick(contended))
    const watched = this.#watched.length === 0 ? undefined : this.#pick(this.#watched)
    if (watched === undefined || choice < 0.82) return this.#command(this.#pick(devices))
    return choice < 0.96 ? this.#look('look', watched) : this.#look('cancel', watched)
  }

  async #desire(device: string): Promise<void> {
    const { name, dice } = this.#options
    const known = this.#versions.get(device)
    const expected = dice() < 0.6 ? known : undefined
    const call: DesireCall = {
      kind: 'desire',
      value: `${name}.${this.#made++}`,
      ...this.#begin(device),
      ...(expected === undefined ? {} : { expected }),
    }
    const headers = expected === undefined ? {} : { 'if-match': `"${expected}"` }
    const path = `/shadows/${device}/desired`
    const answer = await this.#ask(call, { method: 'PUT', path, body: { value: call.value }, headers })
    if (answer === undefined) return
    const version = answer.status === 200 ? answer.body['version'] : answer.body['expected']
    if (typeof version !== 'number') return
    call.version = version
    this.#versions.set(device, version)
  }

  async #readShadow(device: string): Promise<void> {
    const call: Call = { kind: 'shadow', ...this.#begin(device) }
    const answer = await this.#ask(call, { method: 'GET', path: `/shadows/${device}` })
    if (answer?.status !== 200) return
    call.seen = toShadowState(answer.body)
    this.#versions.set(device, call.seen.version)
  }

  async #readSnapshot(device: string): Promise<void> {
    const call: Call = { kind: 'snapshot', ...this.#begin(device) }
    const answer = await this.#ask(call, { method: 'GET', path: `/telemetry/${device}` })
    if (answer?.status !== 200) return
    // The schema of the answer.
    const { timed, plain } = answer.body['data'] as { readonly timed?: number; readonly plain?: number }
    if (timed !== undefined) call.timed = timed
    if (plain !== undefined) call.plain = plain
  }

  /** Half of them with an Idempotency-Key, and then again and again until there is an answer: it is one command. */
  async #command(device: string): Promise<void> {
    const { name, dice } = this.#options
    const token = `${name}:${this.#made++}`
    const isKeyed = dice() < 0.5
    for (let tries = isKeyed ? TRIES_MAX : 1; tries > 0; tries--) {
      if (await this.#commandOnce(device, token, isKeyed ? { 'idempotency-key': token } : {})) return
      await sleep(AWAY_MS)
    }
  }

  /** Whether there was an answer. */
  async #commandOnce(device: string, token: string, headers: Request['headers'] = {}): Promise<boolean> {
    const call: CommandCall = { kind: 'command', token, ...this.#begin(device) }
    const body = { command: 'do', data: { token }, timeout_sec: COMMAND_SEC }
    const answer = await this.#ask(call, { method: 'POST', path: `/commands/${device}`, body, headers })
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
    const call: CommandCall = { kind, commandId, ...this.#begin(device) }
    const method = kind === 'look' ? 'GET' : 'DELETE'
    const answer = await this.#ask(call, { method, path: `/commands/${device}/${commandId}` })
    if (answer?.status === 200) call.seen = statusOf(answer)
  }

  #begin(device: string) {
    const { name, nodes, recorder } = this.#options
    const node = this.#pick(nodes)
    return { caller: name, node: node.name, device, from: recorder.now() }
  }

  /** Undefined if there is no answer: then it may have happened, or may still happen. */
  async #ask(call: Call, request: Request): Promise<Answer | undefined> {
    const { nodes, token, recorder } = this.#options
    recorder.calls.push(call)
    const node = nodes.find(({ name }) => name === call.node)
    if (node === undefined) throw new Error(`there is no node ${call.node}`)
    const answer = await ask(node.url(), token, request).catch(() => undefined)
    if (answer === undefined) {
      await sleep(AWAY_MS)
      return undefined
    }
    call.to = recorder.now()
    call.status = answer.status
    if (answer.status >= 400) call.text = answer.text.slice(0, TEXT_KEPT)
    return answer
  }

  #pick<T>(list: readonly T[]): T {
    const picked = list[Math.floor(this.#options.dice() * list.length)]
    if (picked === undefined) throw new Error('nothing to pick from')
    return picked
  }
}

export async function ask(
  url: string,
  token: string,
  { method, path, body, headers = {} }: Request,
): Promise<Answer> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ANSWER_MS),
  })
  const text = await response.text()
  return { status: response.status, body: toObject(text), text }
}

export function toShadowState(body: Readonly<Record<string, unknown>>): ShadowState {
  // The schema of the answer, and the fields our own clients write.
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

function statusOf({ body }: Answer): CommandStatus {
  // The schema of the answer.
  return body['status'] as CommandStatus
}

function toObject(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text))
  } catch {
    // No JSON: from a proxy, or cut off.
    return {}
  }
}
