// The page of all parts in development builds: each in all its states, without a service.
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { createServer, type ViteDevServer } from 'vite'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { axeViolations, barriers } from './testing/axe.ts'
import { BrowserHarness, CHROMIUM } from './testing/browser.ts'

const configFile = fileURLToPath(new URL('build/vite.config.ts', import.meta.url))
const browser = new BrowserHarness()
let server: ViteDevServer | undefined

describe.skipIf(CHROMIUM === undefined)('the page of all parts', () => {
  beforeAll(async () => {
    // Without a service behind it: no part of the page asks one.
    server = await createServer({
      configFile,
      logLevel: 'error',
      // What an earlier version of the dashboard needed may not be what this one needs.
      optimizeDeps: { force: true },
      server: { port: 0, proxy: {}, hmr: false },
    })
    await server.listen()
  })
  afterEach(() => browser.closePages())
  afterAll(async () => {
    await browser.close()
    await server?.close()
  })

  test('it shows every part, has no barriers in either theme, and fits a phone', async () => {
    const address = server?.httpServer?.address() as AddressInfo
    const httpUrl = `http://localhost:${address.port}`
    const { page } = await browser.open({ httpUrl }, '/dev/parts', { expected: [/404/] })
    await page.getByRole('grid', { name: 'Devices' }).waitFor()
    await page.getByRole('application', { name: 'Eight lines' }).locator('canvas').waitFor()
    const names = await page.getByRole('heading', { level: 2 }).allTextContents()
    expect(names).toEqual(expect.arrayContaining(['VirtualGrid', 'Stepper', 'Chart, Spark', 'ProblemCard']))
    expect(await barriers(page)).toEqual([])
    const json = page.getByLabel('Desired state')
    await json.fill('{"a":[1 2]}')
    await page.getByText(/Not valid JSON: .*position 8/).waitFor()
    await json.fill('{"a":[1,2]}')
    await page.getByRole('button', { name: 'Format' }).click()
    await expect.poll(() => json.inputValue()).toBe('{\n  "a": [\n    1,\n    2\n  ]\n}')
    expect(await page.locator('.json-numbers').first().textContent()).toBe('1\n2\n3\n4\n5\n6')
    await page.getByRole('button', { name: 'Ask first…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Decommission pump-1' })
    await dialog.getByLabel('Type pump-1 to confirm').fill('pump-1')
    await dialog.getByRole('button', { name: 'Decommission pump-1' }).click()
    // A failed action keeps its dialog and says why.
    await dialog.getByText('The request is not valid').waitFor()
    expect(await axeViolations(page)).toEqual([])
  })
})
