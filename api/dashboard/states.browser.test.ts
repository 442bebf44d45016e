// Every view while there is nothing yet, while the role at the page is not enough, and while the service is away: nothing
// stands in anybody's way, in either theme.
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { registerDevice } from '../blackbox/testing/service-rest.ts'
import { barriersOfThemes } from './testing/axe.ts'
import { CHROMIUM } from './testing/browser.ts'
import { AWAY, dashboardSuite } from './testing/suite.ts'
import { DEVICE_TABS, VIEWS } from './testing/views.ts'
import { go } from './testing/walk.ts'

/** Forty pages: a busy machine takes minutes. */
const SLOW = { timeout: 600_000 }
const ALL = [
  ...VIEWS,
  ...['/devices?view=map', '/devices?view=plan'],
  ...DEVICE_TABS.map((tab) => `/devices/robot-1${tab}`),
]

const suite = dashboardSuite()

describe.skipIf(CHROMIUM === undefined)('the states of every view', () => {
  // Before the first device is registered.
  test('a view of a service in which there is nothing has no barriers', SLOW, async () => {
    // No repair ever ran, and there is no such device.
    const { page } = await suite.open('/me', { expected: [/404/] })
    expect(await barriersOf(page, ALL)).toEqual([])
  })

  describe('with a device', () => {
    beforeAll(async () => {
      await registerDevice(suite.admin, 'robot-1')
    })

    test('a view that broke goes with its device, and with the way back', async () => {
      await registerDevice(suite.admin, 'robot-2')
      const { page } = await suite.open('/devices/robot-1/commands')
      await page.getByRole('heading', { level: 1, name: 'robot-1' }).waitFor()
      // An answer that no service gives.
      await page.route('**/api/v1/commands/robot-2*', (route) => route.fulfill({ json: { data: [null] } }))
      await page.evaluate(`{
        const link = document.createElement('a')
        link.href = '/devices/robot-2/commands'
        document.body.append(link)
        link.click()
        link.remove()
      }`)
      await page.getByText(/Something went wrong in the page|The service cannot be reached/).waitFor()
      await page.goBack()
      await page.getByRole('heading', { level: 1, name: 'robot-1' }).waitFor()
    })

    test('what to do about a refusal is said once', async () => {
      const { page } = await suite.open('/login', { login: undefined, expected: [/401/] })
      await page.getByLabel('E-mail').fill('nobody@example.com')
      await page.getByLabel('Password').fill('a wrong password')
      const advice = page.waitForResponse('**/problems/invalid-credentials')
      await page.getByRole('button', { name: 'Log in' }).click()
      await (await advice).finished()
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      expect(await page.getByText(/^Check the e-mail address and the password/).count()).toBe(1)
    })

    test('a view that needs more than the role at the page has no barriers', SLOW, async () => {
      const account = { email: 'vera@example.com', password: 'a horse of course' }
      await suite.admin.post('/auth/register', { ...account, name: 'Vera', role: 'viewer' })
      const { page } = await suite.open('/me', { login: account })
      const closed: string[] = []
      const isClosed = async (path: string) => {
        const says = await page
          .getByText(/Your role is viewer; this needs|Registering devices needs an admin/)
          .count()
        if (says > 0) closed.push(path)
        return says > 0
      }
      expect(await barriersOf(page, ALL, isClosed)).toEqual([])
      expect(closed).toEqual(expect.arrayContaining(['/commands', '/devices/new', '/system/users']))
    })

    test('a view has no barriers while the service is away', SLOW, async () => {
      const { page } = await suite.open('/me', { expected: [...AWAY, /404/] })
      // Views come as files of their own; the service has none to give later.
      for (const path of ALL) await go(page, path)
      await suite.stop()
      await page.getByText(/Not connected since/).waitFor()
      expect(await barriersOf(page, ALL)).toEqual([])
    })
  })
})

async function barriersOf(
  page: Page,
  paths: readonly string[],
  isWanted: (path: string) => Promise<boolean> = async () => true,
): Promise<readonly string[]> {
  const found: string[] = []
  for (const path of paths) {
    await go(page, path)
    if (await isWanted(path))
      found.push(...(await barriersOfThemes(page)).map((barrier) => `${path}: ${barrier}`))
  }
  return found
}
