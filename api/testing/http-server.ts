// The HTTP server on a real socket, with an in-memory engine.
import { createSecretKey } from 'node:crypto'
import { afterEach } from 'vitest'
import { MemoryAnswers } from '../../engine/adapters/answers/testing/memory.ts'
import { MemoryTickets } from '../../engine/adapters/tickets/memory.ts'
import { realSchedule } from '../../engine/index.ts'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { Millis, UserId } from '../../schemas/ids.ts'
import { openPasswords } from '../auth/passwords.ts'
import { openTokens } from '../auth/tokens.ts'
import { type HttpOptions, type HttpServer, openHttp } from '../service/open-http.ts'
import { MemoryEngine } from './memory-engine.ts'
import { OTA } from './ota-settings.ts'
import { NOW, SECRET } from './rest.ts'
import { silentLogger } from './silent-logger.ts'

type More = Partial<Omit<HttpOptions, 'settings'>> & { readonly settings?: Partial<HttpOptions['settings']> }

/** Opens servers, which are closed after each test. Called once, at the top of a file. */
export function httpServers() {
  const open: HttpServer[] = []
  afterEach(async () => {
    await Promise.all(open.splice(0).map((http) => http.close()))
  })
  return async ({ settings, ...more }: More = {}, openOne: typeof openHttp = openHttp) => {
    const clock = new StandingTime(NOW)
    const engine = new MemoryEngine(clock)
    await engine.opened
    const key = createSecretKey(Buffer.from(SECRET))
    const signing = { id: 'test', alg: 'HS256', sign: key, verify: key, jwk: undefined } as const
    const tokens = openTokens({ keys: { signing, previous: [] }, clock })
    const http = await openOne({
      engine,
      users: engine.users,
      blobs: engine.blobs,
      repairs: engine.repairs,
      apiStores: {
        answers: new MemoryAnswers(),
        tickets: new MemoryTickets(clock),
        loginTickets: new MemoryTickets(clock),
        rates: undefined,
        downloadPlaces: undefined,
      },
      clock,
      schedule: realSchedule,
      tokens,
      passwords: openPasswords(),
      settings: {
        host: '127.0.0.1',
        httpPort: 0,
        publicUrl: undefined,
        registration: 'open',
        refreshRotation: false,
        heartbeatTimeoutMs: 60_000,
        requestRates: { perUser: 0, perDevice: 0, perAddress: 0, work: 0 },
        corsOrigins: [],
        trustedProxies: [],
        ota: OTA,
        ...settings,
      },
      otaJwks: [],
      logger: silentLogger,
      version: '1.2.3',
      ...more,
    })
    open.push(http)
    /** The access token of a new admin. */
    const admin = async (): Promise<string> => {
      const id = UserId('usr_admin')
      await engine.users.put({
        id,
        email: 'a@example.com',
        name: 'a',
        role: 'admin',
        groups: [],
        passwordHash: '',
        disabled: false,
        createdAt: Millis(NOW),
        lastLoginAt: undefined,
        tokensValidFrom: Millis(NOW),
      })
      return (await tokens.issueAccess({ userId: id, at: clock.now() })).token
    }
    return { http, engine, clock, admin, tokens, port: Number(new URL(http.url).port) }
  }
}
