// Sends a call, waits for its answer up to a timeout, and retries where that is safe and may help.
import { fetchErrorText } from '../error-text.ts'
import { parseJson } from '../json.ts'
import type { Problem } from '../problem.ts'
import { ConnectionError, RefusalError } from './errors.ts'

export interface Outgoing {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | FormData | undefined
  readonly timeoutMs: number
  /** Sending it twice has the same effect as once. */
  readonly isRepeatable: boolean
  readonly signal: AbortSignal | undefined
  /** Statuses that count as answers, not as refusals. */
  readonly expected: ReadonlySet<number>
  /** Returns the answer as bytes instead of text. */
  readonly isBytes: boolean
}

export interface Incoming {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body, if the call wants bytes. */
  readonly bytes?: Blob
}

export type Send = (outgoing: Outgoing) => Promise<Incoming>

export interface TransportOptions {
  readonly fetch: typeof fetch
  /** Resolves after this time, or at once when the signal is aborted. */
  readonly wait: (ms: number, signal: AbortSignal | undefined) => Promise<void>
  readonly triesMax: number
}

const BACK_OFF_FIRST_MS = 250
const BACK_OFF_MS_MAX = 10_000
/** If the service asks for a longer pause, the caller gets the refusal instead. */
const RETRY_AFTER_MS_MAX = 60_000
/** The service is busy, or temporarily unavailable behind a proxy. */
const PASSING = new Set([429, 502, 503, 504])

export function createTransport({ fetch, wait, triesMax }: TransportOptions): Send {
  return async (outgoing) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await sendOnce(fetch, outgoing)
      } catch (error) {
        const pauseMs = attempt < triesMax && outgoing.isRepeatable ? pauseAfter(error, attempt) : undefined
        if (pauseMs === undefined) throw error
        await wait(pauseMs, outgoing.signal)
        outgoing.signal?.throwIfAborted()
      }
    }
  }
}

/** The pause before the next try. Undefined if another try would not help. */
function pauseAfter(error: unknown, attempt: number): number | undefined {
  // Half of it is random, so that many clients do not return at the same moment.
  const backOffMs =
    Math.min(BACK_OFF_MS_MAX, BACK_OFF_FIRST_MS * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2)
  if (error instanceof ConnectionError)
    return error.status === undefined || PASSING.has(error.status) ? backOffMs : undefined
  if (!(error instanceof RefusalError) || !PASSING.has(error.status)) return undefined
  const { retryAfterMs = backOffMs } = error
  return retryAfterMs <= RETRY_AFTER_MS_MAX ? retryAfterMs : undefined
}

async function sendOnce(fetch: TransportOptions['fetch'], outgoing: Outgoing): Promise<Incoming> {
  const { url, method, headers, body, timeoutMs, signal, expected, isBytes } = outgoing
  signal?.throwIfAborted()
  // `AbortSignal.timeout` is not used, because its timer would keep running after the answer.
  const end = new AbortController()
  const abort = () => end.abort()
  const timer = setTimeout(abort, timeoutMs)
  signal?.addEventListener('abort', abort)
  try {
    const sent = {
      method,
      headers: { ...headers },
      signal: end.signal,
      ...(body === undefined ? {} : { body }),
    }
    const response = await fetch(url, sent)
    const { status } = response
    if (isBytes && expected.has(status))
      return { status, headers: response.headers, text: '', bytes: await response.blob() }
    const incoming = { status, headers: response.headers, text: await response.text() }
    if (expected.has(status)) return incoming
    throw toError(url, incoming)
  } catch (error) {
    if (error instanceof RefusalError || error instanceof ConnectionError) throw error
    signal?.throwIfAborted()
    const { host } = new URL(url)
    throw end.signal.aborted
      ? new ConnectionError('timeout', `${host} did not answer within ${timeoutMs / 1000} s`, {
          cause: error,
        })
      : new ConnectionError('unreachable', `${host} cannot be reached: ${fetchErrorText(error)}`, {
          cause: error,
        })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

function toError(url: string, { status, headers, text }: Incoming): Error {
  const problem = headers.get('content-type')?.startsWith('application/problem+json')
    ? parseProblem(text)
    : undefined
  if (problem !== undefined) return new RefusalError(problem, toRetryAfterMs(headers.get('retry-after')))
  return new ConnectionError(
    'stranger',
    `${new URL(url).host} answered ${status}, and not as a Fleet service`,
    {
      status,
    },
  )
}

function parseProblem(text: string): Problem | undefined {
  // The service's tests check every problem against its schema.
  return parseJson(text) as Problem | undefined
}

/** The header contains seconds or a date (RFC 9110 §10.2.3). */
function toRetryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
