// What every test file of the dashboard needs: one service, one browser, and pages that fail their test when something in
// them went wrong.
import { afterAll, afterEach, beforeAll } from 'vitest'
import { ADMIN, type Service, ServiceHarness } from '../../blackbox/testing/service.ts'
import type { Rest } from '../../blackbox/testing/service-rest.ts'
import { BrowserHarness, CHROMIUM, type OpenOptions, type OpenPage } from './browser.ts'

/** While the service is away, requests fail, as they should. */
export const AWAY: readonly RegExp[] = [
  /ERR_CONNECTION_REFUSED/,
  /WebSocket connection/,
  /ERR_EMPTY_RESPONSE/,
  /ERR_CONNECTION_RESET/,
  /503/,
]

class DashboardSuite {
  readonly #services = new ServiceHarness()
  readonly #browser = new BrowserHarness()
  #started: { readonly service: Service; readonly admin: Rest } | undefined

  get service(): Service {
    return this.#now().service
  }

  /** REST as the admin. */
  get admin(): Rest {
    return this.#now().admin
  }

  async begin(): Promise<void> {
    await this.#take(await this.#services.start())
  }

  /** Opens a page of its own, as the admin if no other login is given. `login: undefined` is a stranger. */
  open(path: string, options: OpenOptions = {}): Promise<OpenPage> {
    return this.#browser.open(this.service, path, { login: ADMIN, ...options })
  }

  closePages(): Promise<void> {
    return this.#browser.closePages()
  }

  async stop(): Promise<void> {
    this.service.kill('SIGKILL')
    await this.service.ended
  }

  /** Starts the service again on the same data, ports and settings. */
  async startAgain(): Promise<void> {
    await this.#take(await this.service.again())
  }

  async end(): Promise<void> {
    await this.#browser.close()
    await this.#services.close()
  }

  async #take(service: Service): Promise<void> {
    this.#started = { service, admin: await service.admin() }
  }

  #now() {
    if (this.#started === undefined) throw new Error('the service has not been started yet')
    return this.#started
  }
}

/** The suite of a test file: begun before its tests and ended after them. Call it once, outside of any `describe`. */
export function dashboardSuite(): DashboardSuite {
  const suite = new DashboardSuite()
  beforeAll(async () => {
    if (CHROMIUM !== undefined) await suite.begin()
  })
  afterEach(() => suite.closePages())
  afterAll(() => suite.end())
  return suite
}
