// The REST layer on an in-memory engine, for tests. Every answer is checked against the declaration of its route.

import { createSecretKey } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { MemoryAnswers } from '../../engine/adapters/answers/testing/memory.ts'
import { MemoryTickets } from '../../engine/adapters/tickets/memory.ts'
import { rulesOfTypes } from '../../engine/domain/alert/type-rules.ts'
import type { DeviceTypes } from '../../engine/domain/device-type/definition.ts'
import { LIMITS } from '../../engine/limits.ts'
import type { IdempotencyStore } from '../../engine/ports/idempotency.ts'
import type { User } from '../../engine/ports/users.ts'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { type DeviceId, Millis, parseDeviceId, UserId } from '../../schemas/ids.ts'
import type { Role } from '../../schemas/vocabulary.ts'
import type { Registration } from '../auth/accounts.ts'
import type { KeyRing } from '../auth/key-ring.ts'
import type { Passwords } from '../auth/passwords.ts'
import { openTokens } from '../auth/tokens.ts'
import type { FinishedRequest } from '../http/app-options.ts'
import type { Pages } from '../http/pages.ts'
import type { Logger } from '../logger.ts'
import type { RequestRates } from '../rates/rates.ts'
import { createHttp } from '../service/open-http.ts'
import type { OtaSettings } from '../service/settings/ota.ts'
import { createConformance } from './conformance.ts'
import { replaceableEngine } from './memory-engine.ts'
import { OTA } from './ota-settings.ts'
import { silentLogger } from './silent-logger.ts'

export const NOW = Date.UTC(2026, 2, 1, 12, 0, 0, 500)
export const SECRET = 'a secret that is long enough for tests'

/** Instant and readable. Real hashing has tests of its own. */
const plainPasswords: Passwords = {
  hash: async (password) => `plain:${password}`,
  verify: async (password, hashed) => hashed === `plain:${password}`,
}

export interface HarnessOptions {
  readonly registration?: Registration
  readonly refreshRotation?: boolean
  readonly keys?: KeyRing
  readonly passwords?: Passwords
  readonly logger?: Logger
  readonly customTypes?: DeviceTypes
  /** No limits by default, because tests send many requests and their clock stands still. */
  readonly requestRates?: Partial<RequestRates>
  readonly corsOrigins?: readonly string[]
  readonly answers?: IdempotencyStore
  readonly trustedProxies?: readonly string[]
  readonly ota?: Partial<OtaSettings>
  readonly otaJwks?: readonly object[]
  readonly pages?: Pages
}

export interface RestCall {
  readonly token?: string | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface RestAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  // Tests reach into bodies freely; the schemas are checked before.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  readonly body: any
  readonly text: string
}

export function openHarness(options: HarnessOptions = {}) {
  const clock = new StandingTime(NOW)
  const typeRules = rulesOfTypes(options.customTypes?.values() ?? [])
  const { engine, replace } = replaceableEngine(clock, typeRules)
  const { repairs } = engine
  const key = createSecretKey(Buffer.from(SECRET))
  const signing = { id: 'test', alg: 'HS256', sign: key, verify: key, jwk: undefined } as const
  const tokens = openTokens({ keys: options.keys ?? { signing, previous: [] }, clock })
  const done: FinishedRequest[] = []
  const answers = options.answers ?? new MemoryAnswers()
  const {
    app,
    routes,
    loginTickets,
    tickets,
    setPhase: move,
  } = createHttp({
    engine,
    users: engine.users,
    blobs: engine.blobs,
    repairs,
    apiStores: {
      answers,
      tickets: new MemoryTickets(clock),
      loginTickets: new MemoryTickets(clock, LIMITS.loginTicketMs),
      rates: undefined,
      downloadPlaces: undefined,
    },
    clock,
    schedule: clock,
    tokens,
    passwords: options.passwords ?? plainPasswords,
    settings: {
      host: '127.0.0.1',
      httpPort: 0,
      registration: options.registration ?? 'open',
      refreshRotation: options.refreshRotation ?? false,
      heartbeatTimeoutMs: 60_000,
      requestRates: { perUser: 0, perDevice: 0, perAddress: 0, work: 0, ...options.requestRates },
      publicUrl: 'https://fleet.example.com',
      corsOrigins: options.corsOrigins ?? [],
      trustedProxies: options.trustedProxies ?? [],
      ota: { ...OTA, ...options.ota },
    },
    otaJwks: options.otaJwks ?? [
      { kty: 'OKP', crv: 'Ed25519', x: 'x', kid: 'test', alg: 'EdDSA', use: 'sig' },
    ],
    logger: options.logger ?? silentLogger,
    version: '0.0.0-test',
    pages: options.pages,
    hasDashboard: options.pages !== undefined,
    customTypes: options.customTypes,
    onRequestDone: (request) => done.push(request),
  })
  const conforms = createConformance(routes)

  async function request(line: string, { token, body, headers = {} }: RestCall = {}): Promise<RestAnswer> {
    await engine.opened
    const [method = 'GET', url = '/'] = line.split(' ')
    const response = await app.inject({
      // The tests give the method as text.
      method: method as 'GET',
      url,
      headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
      ...(body === undefined ? {} : { payload: body as string | object }),
    })
    const isPacked = response.headers['content-encoding'] === 'gzip'
    const text = isPacked ? gunzipSync(response.rawPayload).toString() : response.payload
    const type = String(response.headers['content-type'] ?? '')
    const answered: RestAnswer = {
      status: response.statusCode,
      headers: response.headers,
      body: /^application\/(problem\+)?json/.test(type) && text !== '' ? JSON.parse(text) : text,
      text,
    }
    conforms(method, url, answered)
    return answered
  }

  /** A user as if registered, and an access token for it. */
  async function login(role: Role, about: Partial<User> = {}) {
    const user: User = {
      id: UserId(`usr_${role}${engine.users.count()}`),
      email: `${role}${engine.users.count()}@example.com`,
      name: role,
      role,
      groups: [],
      passwordHash: 'plain:correct horse',
      disabled: false,
      createdAt: Millis(NOW),
      lastLoginAt: undefined,
      tokensValidFrom: Millis(NOW),
      ...about,
    }
    await engine.users.put(user)
    const { token } = await tokens.issueAccess({ userId: user.id, at: clock.now() })
    return { user, token }
  }

  async function device(
    id: string,
    about: { group?: string; tags?: string[]; name?: string; type?: string; parentId?: string } = {},
  ) {
    await engine.opened
    const deviceId = parsed(id)
    const { name = id, type = 'mqtt_device' } = about
    await engine.submit(
      deviceId,
      { kind: 'register', ...about, name, type },
      { by: { kind: 'user', id: 'test' } },
    )
    return deviceId
  }

  return {
    app,
    clock,
    device,
    done,
    engine,
    login,
    move,
    repairs,
    replaceEngine: replace,
    request,
    routes,
    loginTickets,
    tickets,
    tokens,
  }
}

function parsed(id: string): DeviceId {
  const deviceId = parseDeviceId(id)
  if (deviceId === undefined) throw new Error(`${id} is no device id`)
  return deviceId
}
