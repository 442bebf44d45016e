// Registers the simulated devices with the service over REST, thousands per call. Their ids are stable: a restart with
// the same data finds its devices again and only requests new tokens.

import { setTimeout as wait } from 'node:timers/promises'
import { eachAtOnce } from '../../../schemas/each-at-once.ts'

export interface Registration {
  readonly id: string
  readonly type: string
  readonly group: string | undefined
  readonly tags: readonly string[]
  /** The gateway that the device is connected through. Such a device needs no token. */
  readonly parentId: string | undefined
}

export interface Registry {
  /** The origin of the service, for example `http://127.0.0.1:8000`. */
  readonly httpUrl: string
  /** An access token with the right to register devices. */
  readonly token: string
  readonly signal: AbortSignal
}

const ROWS_PER_CALL = 2_000
const TOKENS_AT_ONCE = 16
const ATTEMPTS_MAX = 10
const RETRY_MS_MAX = 5_000
const TOKEN_TTL_HOURS = 8_760

/** Resolves with the token of each registered device by its id. The token is empty for a device that needs none.
 *  `skipped` is called for each device that cannot be used. */
export async function enrol(
  registry: Registry,
  registrations: readonly Registration[],
  skipped: (id: string, reason: string) => void,
): Promise<ReadonlyMap<string, string>> {
  const tokens = new Map<string, string>()
  const known: Registration[] = []
  for (let from = 0; from < registrations.length; from += ROWS_PER_CALL) {
    const some = registrations.slice(from, from + ROWS_PER_CALL)
    const rows = await register(registry, some)
    for (const [at, registration] of some.entries()) {
      const { access_token: token, error } = rows[at] ?? {}
      if (token !== undefined) tokens.set(registration.id, token)
      else if (error?.code !== 'ALREADY_EXISTS') skipped(registration.id, error?.message ?? 'no answer')
      else if (registration.parentId !== undefined) tokens.set(registration.id, '')
      else known.push(registration)
    }
  }
  await eachAtOnce(known, TOKENS_AT_ONCE, async ({ id }) => {
    const token = await askToken(registry, id)
    if (token.kind === 'token') tokens.set(id, token.token)
    else skipped(id, token.reason)
  })
  return tokens
}

interface Row {
  readonly access_token?: string
  readonly error?: { readonly code: string; readonly message: string }
}

async function register(registry: Registry, registrations: readonly Registration[]): Promise<readonly Row[]> {
  const lines = registrations.map(({ id, type, group, tags, parentId }) =>
    JSON.stringify({
      ...{ device_id: id, name: `Simulated ${type} ${/\d+$/.exec(id)?.[0] ?? id}`, type, tags },
      ...(group !== undefined && { group }),
      ...(parentId !== undefined && { parent_id: parentId }),
      metadata: { simulated: true },
    }),
  )
  const { status, body } = await post(registry, '/devices/bulk', {
    type: 'application/x-ndjson',
    text: lines.join('\n'),
  })
  const { results, message, code } = body
  // The schema of this response is tested elsewhere.
  if (status === 200 && Array.isArray(results)) return results as readonly Row[]
  const error = { code: String(code ?? status), message: `HTTP ${status} ${message ?? code ?? ''}`.trim() }
  return registrations.map(() => ({ error }))
}

type TokenAnswer =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'refused'; readonly reason: string }

async function askToken(registry: Registry, id: string): Promise<TokenAnswer> {
  const asked = { device_id: id, scopes: ['publish', 'subscribe'], ttl_hours: TOKEN_TTL_HOURS }
  const { status, body } = await post(registry, '/auth/devices/token', {
    type: 'application/json',
    text: JSON.stringify(asked),
  })
  const { mqtt_token: token, code } = body
  return typeof token === 'string'
    ? { kind: 'token', token }
    : { kind: 'refused', reason: `HTTP ${status} ${code ?? ''}`.trim() }
}

interface Reply {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** Repeats the request a few times while the service is busy or still starting. */
async function post(
  { httpUrl, token, signal }: Registry,
  path: string,
  { type, text }: { readonly type: string; readonly text: string },
): Promise<Reply> {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(`${httpUrl}/api/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': type, authorization: `Bearer ${token}` },
      body: text,
      signal,
    })
    if ((response.status !== 429 && response.status !== 503) || attempt === ATTEMPTS_MAX) {
      // The service always responds with an object, even to a refused request.
      return { status: response.status, body: (await response.json()) as Reply['body'] }
    }
    await response.arrayBuffer()
    const afterMs = Number(response.headers.get('retry-after') ?? 1) * 1_000
    await wait(Math.min(afterMs || 1_000, RETRY_MS_MAX), undefined, { signal })
  }
}
