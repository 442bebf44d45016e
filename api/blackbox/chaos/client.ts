// The client of a user: records each REST call from its beginning to its answer, if there is one.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../../engine/edge/simulator/roaming/random.ts'
import type { Call, Recorder } from './recording.ts'

const ANSWER_MS = 12_000
/** Pause before the next call after one without an answer. */
const AWAY_MS = 300
const TEXT_KEPT = 300

export interface ApiNode {
  readonly name: string
  readonly url: () => string
}

export interface ClientOptions {
  readonly name: string
  readonly token: string
  readonly nodes: readonly ApiNode[]
  readonly dice: Random
  readonly recorder: Recorder
}

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly text: string
  readonly requestId: string
}

export interface Request {
  readonly method: string
  readonly path: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

export class Client {
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /** Calls a node of the client's choice. */
  begin(device: string) {
    const { name, nodes, recorder } = this.#options
    return { caller: name, node: this.pick(nodes).name, device, from: recorder.now() }
  }

  /** Resolves with undefined if there is no answer. Then the call may have happened or may still happen. */
  async ask(call: Call, request: Request): Promise<Answer | undefined> {
    const { nodes, token, recorder } = this.#options
    recorder.calls.push(call)
    const node = nodes.find(({ name }) => name === call.node)
    if (node === undefined) throw new Error(`there is no node ${call.node}`)
    const answer = await ask(node.url(), token, request).catch(() => undefined)
    if (answer === undefined) {
      await this.wait()
      return undefined
    }
    call.to = recorder.now()
    call.status = answer.status
    call.requestId = answer.requestId
    if (answer.status >= 400) call.text = answer.text.slice(0, TEXT_KEPT)
    return answer
  }

  async wait(): Promise<void> {
    await sleep(AWAY_MS)
  }

  pick<T>(list: readonly T[]): T {
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
  const requestId = response.headers.get('x-request-id') ?? ''
  return { status: response.status, body: toObject(text), text, requestId }
}

function toObject(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text))
  } catch {
    // The text is no JSON: it comes from a proxy or was cut off.
    return {}
  }
}
