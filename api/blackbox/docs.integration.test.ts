// The documentation in a real browser: no error in the console, no violation of a policy, nothing from elsewhere.
import { afterAll, afterEach, describe, expect } from 'vitest'
import { BrowserHarness, CHROMIUM } from '../dashboard/testing/browser.ts'
import { ADMIN, type Service } from './testing/service.ts'
import { test } from './testing/shared-service.ts'

describe.skipIf(CHROMIUM === undefined)('the documentation in Chromium (needs one in the PATH)', () => {
  const browser = new BrowserHarness()
  let service: Service
  test.beforeAll(async ({ service: given }) => {
    service = given
    const admin = await service.admin()
    await admin.post('/devices', { device_id: 'robot-7', name: 'Robot', type: 'mqtt_device' })
  })
  afterEach(() => browser.closePages())
  afterAll(async () => {
    await browser.close()
  })

  test('somebody logs in at /docs, finds an operation and tries it out', async () => {
    const { page, context } = await browser.open(service, '/docs')
    await page.getByLabel('E-mail').fill(ADMIN.email)
    await page.getByLabel('Password').fill(ADMIN.password)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText(`Logged in as ${ADMIN.email} (admin).`).waitFor()
    const [cookie] = await context.cookies(`${service.httpUrl}/api/v1/auth/session`)
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
    await page.getByPlaceholder('Filter by tag').fill('get listdevices')
    // The page's own policy forbids what `waitForFunction` evaluates in it.
    await expect.poll(() => page.locator('.opblock-tag-section').count()).toBe(1)
    await page.locator('.opblock-tag').click()
    await page.locator('.opblock-summary-control').first().waitFor()
    expect(await page.locator('.opblock-summary-path').allInnerTexts()).toEqual([
      expect.stringContaining('devices'),
    ])
    await page.locator('.opblock-summary-control').click()
    await page.getByRole('button', { name: 'Try it out' }).click()
    await page.getByRole('button', { name: 'Execute' }).click()
    await page.locator('.live-responses-table').getByText('robot-7').first().waitFor()

    // Another page of the same browser takes the session over.
    const other = await context.newPage()
    await other.goto(`${service.httpUrl}/docs`)
    await other.getByRole('button', { name: 'Use the session of the dashboard' }).click()
    await other.getByText(`Logged in as ${ADMIN.email} (admin).`).waitFor()
    await other.getByRole('button', { name: 'Log out' }).click()
    await other.getByText('Logged out.').waitFor()
    expect(await context.cookies(`${service.httpUrl}/api/v1/auth/session`)).toEqual([])
  })

  test.each([
    ['/docs/async', 'fleet/{device_id}/telemetry'],
    ['/docs/devices', 'What a device publishes'],
    ['/problems', 'DEVICE_SHADOW_CONFLICT'],
  ])('%s is a page without errors', async (path, words) => {
    const { page } = await browser.open(service, path)
    await page.getByText(words).first().waitFor()
  })
})
