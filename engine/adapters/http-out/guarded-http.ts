// HTTP to addresses that users named. The host is resolved once per request, each of its addresses is judged, and
// the connection goes to exactly these addresses, with the host name in `Host` and SNI: a name that resolves differently
// a moment later gains nothing. Connections are not reused, so each is judged.
import { lookup } from 'node:dns/promises'
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { SendResult } from '../../domain/alert/delivery.ts'
import { type AllowList, mayReach } from '../../domain/outbound/allow-list.ts'
import { parseTarget } from '../../domain/outbound/target.ts'
import type { HttpOut, Judgement, OutboundRequest } from '../../ports/http-out.ts'

export interface GuardedHttpSettings {
  readonly allow: AllowList
  readonly timeoutMs?: number
  /** All addresses of a name. */
  readonly resolve?: (host: string) => Promise<readonly string[]>
}

const TIMEOUT_MS_DEFAULT = 10_000
const ANSWER_BYTES_MAX = 4_096
const RETRY_AFTER_SEC_MAX = 3_600

export class GuardedHttp implements HttpOut {
  readonly #allow: AllowList
  readonly #timeoutMs: number
  readonly #resolve: (host: string) => Promise<readonly string[]>

  constructor({ allow, timeoutMs = TIMEOUT_MS_DEFAULT, resolve = resolveAll }: GuardedHttpSettings) {
    this.#allow = allow
    this.#timeoutMs = timeoutMs
    this.#resolve = resolve
  }

  async judge(url: string): Promise<Judgement> {
    const target = parseTarget(url)
    if (target.kind === 'refused') return { kind: 'forbidden', address: url }
    const resolved = await this.#addressesOf(target, AbortSignal.timeout(this.#timeoutMs))
    return resolved.kind === 'addresses' ? { kind: 'allowed' } : resolved
  }

  async send(request: OutboundRequest): Promise<SendResult> {
    const target = parseTarget(request.url)
    if (target.kind === 'refused') return { kind: 'blocked' }
    const signal = AbortSignal.timeout(this.#timeoutMs)
    const resolved = await this.#addressesOf(target, signal)
    if (resolved.kind === 'forbidden') return { kind: 'blocked' }
    if (resolved.kind === 'unresolved') return { kind: 'failed', code: signal.aborted ? 'TIMEOUT' : 'DNS' }
    return exchange(target.url, request, { addresses: resolved.addresses, signal })
  }

  /** Names below `localhost` mean this machine, even if no resolver knows them. */
  async #resolveHost(host: string): Promise<readonly string[]> {
    const name = host.toLowerCase().replace(/\.$/, '')
    return /(^|\.)localhost$/.test(name) ? ['127.0.0.1'] : this.#resolve(name)
  }

  async #addressesOf(
    { host, port }: { readonly host: string; readonly port: number },
    signal: AbortSignal,
  ): Promise<
    | Exclude<Judgement, { kind: 'allowed' }>
    | { readonly kind: 'addresses'; readonly addresses: readonly string[] }
  > {
    const addresses = isIP(host) > 0 ? [host] : await unlessAborted(signal, this.#resolveHost(host))
    if (addresses === undefined || addresses.length === 0) return { kind: 'unresolved' }
    const forbidden = addresses.find((address) => !mayReach(this.#allow, { host, port, address }))
    return forbidden === undefined
      ? { kind: 'addresses', addresses }
      : { kind: 'forbidden', address: forbidden }
  }
}

interface Connection {
  readonly addresses: readonly string[]
  readonly signal: AbortSignal
}

function exchange(
  url: URL,
  { method, headers, body }: OutboundRequest,
  connection: Connection,
): Promise<SendResult> {
  const options: RequestOptions = {
    method,
    headers: { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' },
    // A new connection for each request, to an address that was judged.
    agent: false,
    lookup: lookupAmong(connection.addresses),
    signal: connection.signal,
  }
  return new Promise((resolve) => {
    try {
      const request = url.protocol === 'https:' ? httpsRequest(url, options) : httpRequest(url, options)
      request.on('response', (answer) => {
        resolve({ kind: 'answered', status: answer.statusCode ?? 0, retryAfterSec: retryAfterOf(answer) })
        discard(answer)
      })
      request.on('error', (error) => resolve({ kind: 'failed', code: codeOf(error) }))
      // The only event if the receiver switches to another protocol. After an answer or an error it changes nothing.
      request.on('close', () => resolve({ kind: 'failed', code: 'CONNECTION_RESET' }))
      request.end(body)
    } catch {
      // Node refuses some headers by throwing.
      resolve({ kind: 'failed', code: 'BAD_REQUEST' })
    }
  })
}

function lookupAmong(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, callback) => {
    const [first] = all
    if (options.all === true) callback(null, all)
    else callback(null, first?.address ?? '', first?.family)
  }
}

/** Reads a little, so that a receiver that answers with a short body does not see a broken connection. */
function discard(answer: IncomingMessage): void {
  let bytes = 0
  answer.on('error', () => answer.destroy())
  answer.on('data', (part: Uint8Array) => {
    bytes += part.length
    if (bytes > ANSWER_BYTES_MAX) answer.destroy()
  })
}

function retryAfterOf({ headers }: IncomingMessage): number | undefined {
  const text = headers['retry-after']
  if (text === undefined) return undefined
  const sec = /^\d{1,9}$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000
  return Number.isFinite(sec) ? Math.min(Math.max(sec, 0), RETRY_AFTER_SEC_MAX) : undefined
}

const CODES: Readonly<Record<string, string>> = {
  ABORT_ERR: 'TIMEOUT',
  ECONNREFUSED: 'CONNECTION_REFUSED',
  ECONNRESET: 'CONNECTION_RESET',
  EPIPE: 'CONNECTION_RESET',
  EHOSTUNREACH: 'UNREACHABLE',
  ENETUNREACH: 'UNREACHABLE',
  ETIMEDOUT: 'TIMEOUT',
}

function codeOf(error: Error): string {
  // Socket errors have a code.
  const { code = '' } = error as NodeJS.ErrnoException
  if (error.name === 'TimeoutError' || error.cause instanceof DOMException) return 'TIMEOUT'
  if (/CERT|TLS|SSL|ALTNAME|SELF_SIGNED|VERIFY/.test(code)) return 'TLS'
  return CODES[code] ?? 'NETWORK'
}

async function resolveAll(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, verbatim: true })
  return found.map(({ address }) => address)
}

/** Undefined if the work fails or takes too long. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
    work.then(resolve, () => resolve(undefined))
  })
}
