// Chromium for tests of the dashboard. A page fails its test when anything is wrong in it that nobody may have seen: an
// error in the console, a violation of the page's policy, a promise without an end, a request to another origin.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core'
import { expect } from 'vitest'

/** Generous, because a busy machine makes a browser slow before anything else. */
const DEADLINE_MS = 60_000

/** Where Chromium is, or undefined. `npm test` fetches it, and says so where it cannot be had. */
export const CHROMIUM =
  process.env['TEST_SERVER_CHROMIUM'] ?? process.env['CHROMIUM_PATH'] ?? onPath('chromium')

export interface Login {
  readonly email: string
  readonly password: string
}

/** What a page is opened of. */
interface ServedPage {
  readonly httpUrl: string
}

export interface OpenOptions extends BrowserContextOptions {
  /** Logs in before the page is opened. */
  readonly login?: Login | undefined
  /** Problems that the test itself brings about, as patterns of their text: they do not fail it. */
  readonly expected?: readonly RegExp[]
  /** What is done before the first page is loaded. */
  readonly before?: (context: BrowserContext) => Promise<unknown>
}

export interface OpenPage {
  readonly page: Page
  readonly context: BrowserContext
  /** What was wrong in the page so far. */
  readonly problems: readonly string[]
}

/** Keeps what a test file opens; `close` ends all of it, and fails if a page had a problem. */
export class BrowserHarness {
  #browser: Browser | undefined
  readonly #opened: OpenPage[] = []

  /** Opens a page of its own, with nothing of earlier ones in its storage. */
  async open(service: ServedPage, path: string, options: OpenOptions = {}): Promise<OpenPage> {
    const { login, expected = [], before, ...contextOptions } = options
    const browser = await this.#launched()
    const context = await browser.newContext({
      viewport: { width: 1440, height: 900 },
      locale: 'en-GB',
      timezoneId: 'UTC',
      reducedMotion: 'reduce',
      ...(login === undefined ? {} : { storageState: rememberedSession(service) }),
      ...contextOptions,
    })
    context.setDefaultTimeout(DEADLINE_MS)
    const page = await context.newPage()
    const problems: string[] = []
    const note = (text: string) => {
      if (!expected.some((pattern) => pattern.test(text))) problems.push(text)
    }
    page.on('console', (message) => {
      if (message.type() === 'error') note(`console: ${message.text()} (${message.location().url})`)
    })
    page.on('pageerror', (error) => note(`error: ${error.stack ?? error.message}`))
    page.on('request', (request) => {
      const { origin } = new URL(request.url())
      if (origin !== 'null' && origin !== new URL(service.httpUrl).origin)
        note(`a request to ${request.url()}`)
    })
    const opened = { page, context, problems }
    this.#opened.push(opened)
    if (login !== undefined) await logIn(context, service, login)
    await before?.(context)
    await page.goto(`${service.httpUrl}${path}`)
    return opened
  }

  /** Call it in `afterEach`: a problem belongs to the test that brought it about. */
  async closePages(): Promise<void> {
    const opened = this.#opened.splice(0)
    await Promise.all(opened.map(({ context }) => context.close()))
    expect(opened.flatMap(({ problems }) => problems)).toEqual([])
  }

  async close(): Promise<void> {
    await this.#browser?.close()
  }

  async #launched(): Promise<Browser> {
    if (CHROMIUM === undefined) throw new Error('there is no Chromium: install it, or set CHROMIUM_PATH')
    // Only root has no sandbox: CI runs as root in a container.
    this.#browser ??= await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
    return this.#browser
  }
}

/** The page asks for the session of its cookie only if it remembers that there was one. */
function rememberedSession(service: ServedPage): NonNullable<BrowserContextOptions['storageState']> {
  const { origin } = new URL(service.httpUrl)
  return { cookies: [], origins: [{ origin, localStorage: [{ name: 'fleet-has-session', value: '1' }] }] }
}

/** Gets the cookie of a session, as the form would: pages then begin as after a reload. The form has tests of its own. */
async function logIn(context: BrowserContext, service: ServedPage, login: Login): Promise<void> {
  const response = await context.request.post(`${service.httpUrl}/api/v1/auth/session`, {
    data: { ...login },
    headers: { origin: service.httpUrl },
  })
  expect(response.status()).toBe(200)
}

function onPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}
