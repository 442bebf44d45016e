// A REST client for the service under examination. Each call resolves with its response, whatever the status.
import { ConnectionError } from '../../../../schemas/client/errors.ts'
import { fetchErrorText } from '../../../../schemas/error-text.ts'
import { type Json, type JsonObject, parseJsonObject } from '../../../../schemas/json.ts'

export interface Answer {
  readonly status: number
  readonly type: string
  /** The body is empty if the response is not a JSON object. */
  readonly body: JsonObject
}

export interface CallOptions {
  readonly body?: Json | FormData
  /** The token to use instead of the admin token. Null sends no token. */
  readonly token?: string | null
  /** The version of the resource that the change expects. */
  readonly ifMatch?: number
}

const ANSWER_MS = 30_000

export class Rest {
  readonly #url: string
  /** The access token of the admin. */
  readonly token: string
  readonly #answered: (answer: Answer) => void

  /** `answered` is called with each response. */
  constructor(url: string, token: string, answered: (answer: Answer) => void) {
    this.#url = url.replace(/\/$/, '')
    this.token = token
    this.#answered = answered
  }

  /** Sends a request. `path` is relative to `/api/v1` unless it starts with two slashes. */
  async call(
    method: string,
    path: string,
    { body, token = this.token, ifMatch }: CallOptions = {},
  ): Promise<Answer> {
    const url = path.startsWith('//') ? `${this.#url}${path.slice(1)}` : `${this.#url}/api/v1${path}`
    const isForm = body instanceof FormData
    const response = await fetch(url, {
      method,
      headers: {
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
        ...(ifMatch === undefined ? {} : { 'if-match': `"${ifMatch}"` }),
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_MS),
    }).catch((cause: unknown) => {
      const text = `${new URL(url).host} cannot be reached: ${fetchErrorText(cause)}`
      throw new ConnectionError('unreachable', text, { cause })
    })
    const text = await response.text()
    const { status, headers } = response
    const answer: Answer = { status, type: headers.get('content-type') ?? '', body: parse(text) }
    this.#answered(answer)
    return answer
  }

  get(path: string, asking: CallOptions = {}): Promise<Answer> {
    return this.call('GET', path, asking)
  }

  post(path: string, body: Json | FormData, asking: CallOptions = {}): Promise<Answer> {
    return this.call('POST', path, { ...asking, body })
  }
}

/** Returns the rows of one page of a list. */
export function rowsOf(body: JsonObject): readonly JsonObject[] {
  return Array.isArray(body['data']) ? body['data'].map((row) => Object(row) as JsonObject) : []
}

function parse(text: string): JsonObject {
  // HTML pages and metrics are not JSON.
  return parseJsonObject(text) ?? {}
}
