// What somebody sees who has just installed the service and starts it on a terminal: one address, which logs in once and
// shows a fleet that lives.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { BrowserHarness, CHROMIUM } from './testing/browser.ts'

const MAIN = fileURLToPath(new URL('../../dist/program/service.js', import.meta.url))
/** The service asks its output whether it is a terminal, and tests have none. */
const ON_A_TERMINAL = 'data:text/javascript,process.stdout.isTTY = true'
const DEVICES = 25

describe.skipIf(CHROMIUM === undefined)('the first start on a terminal', () => {
  const browser = new BrowserHarness()
  const folder = mkdtempSync(join(tmpdir(), 'fleet-first-start-'))
  let service: ChildProcess | undefined
  let said = ''

  beforeAll(async () => {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('FLEET_'))
    const child = spawn(process.execPath, ['--import', ON_A_TERMINAL, MAIN, '--simulate', String(DEVICES)], {
      // Its own group, so that its database ends with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...Object.fromEntries(inherited),
        ...{ FLEET_DATA_DIR: join(folder, 'data'), FLEET_HTTP_PORT: '0', FLEET_MQTT_PORT: '0' },
        FLEET_LOG_LEVEL: 'warn',
      },
    })
    service = child
    for await (const line of createInterface({ input: child.stdout })) {
      said += `${line}\n`
      if (line.includes('Simulator')) break
    }
    // What it says later is of no interest, but must not stop it.
    child.stdout.resume()
  })
  afterEach(() => browser.closePages())
  afterAll(async () => {
    await browser.close()
    if (service?.pid !== undefined && service.exitCode === null) process.kill(-service.pid, 'SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 })
  })

  test('its address logs in once, and the fleet of its simulator lives', async () => {
    const [, httpUrl = '', path = ''] = /(http:\/\/localhost:\d+)(\/login#ticket=\S+)/.exec(said) ?? [said]
    const first = await fetch(httpUrl, { headers: { accept: 'text/html' } })
    expect([first.status, await first.text()]).toEqual([200, expect.stringContaining('<div id="app">')])

    const { page } = await browser.open({ httpUrl }, path)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.getByRole('link', { name: new RegExp(`online ${DEVICES}`) }).waitFor()
    const rate = page.getByRole('link', { name: /^messages\/s/ })
    await expect.poll(() => rate.textContent()).toMatch(/[1-9]/)
    // The ticket is gone from the address, and good for nobody else.
    expect(await page.evaluate<string>('location.href')).toBe(`${httpUrl}/`)
    const { page: other } = await browser.open({ httpUrl }, path, { expected: [/401/] })
    await other.getByRole('button', { name: 'Log in' }).waitFor()
    await other.getByRole('alert').waitFor()

    // An open page would miss the service.
    await browser.closePages()
    service?.kill('SIGTERM')
    expect(service === undefined ? undefined : await once(service, 'exit')).toEqual([0, null])
  })
})
