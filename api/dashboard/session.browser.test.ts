// The session and the connection of the dashboard: what a browser keeps, what it survives, and what it is never told.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN, type Service, ServiceHarness, until } from '../blackbox/testing/service.ts'
import { type Rest, registerDevice } from '../blackbox/testing/service-rest.ts'
import { BrowserHarness, CHROMIUM } from './testing/browser.ts'

const services = new ServiceHarness()
const browser = new BrowserHarness()
let service: Service
let admin: Rest

const HOSTILE = '<img src=x onerror="document.title=\'taken\'"> \u202egnp.exe'
/** While the service is away, requests fail, as they should. */
const AWAY = [
  /ERR_CONNECTION_REFUSED/,
  /WebSocket connection/,
  /ERR_EMPTY_RESPONSE/,
  /ERR_CONNECTION_RESET/,
  /503/,
]

describe.skipIf(CHROMIUM === undefined)('the session and the connection of the dashboard', () => {
  beforeAll(async () => {
    service = await services.start()
    admin = await service.admin()
    await registerDevice(admin, 'robot-1')
    await admin.call('PATCH', '/devices/robot-1', { name: HOSTILE.replace('\u202e', '') })
  })
  afterEach(() => browser.closePages())
  afterAll(async () => {
    await browser.close()
    await services.close()
  })

  test('a reload goes on without a login, and no token is in the storage or the address', async () => {
    const { page, context } = await browser.open(service, '/alerts', { login: ADMIN })
    await page.getByRole('heading', { level: 1, name: 'Alerts' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Alerts' }).waitFor()
    const stored = String(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])'))
    expect(stored).not.toMatch(/eyJ|rt_/)
    expect(page.url()).toBe(`${service.httpUrl}/alerts`)
    const cookies = await context.cookies(`${service.httpUrl}/api/v1/auth/session`)
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Strict', path: '/api/v1/auth/session' }])
    // Scripts of the page do not see it.
    expect(await page.evaluate('document.cookie')).toBe('')
  })

  test('every page of the dashboard comes with the policy that allows its own files only', async () => {
    const { page } = await browser.open(service, '/login')
    for (const path of ['/', '/devices', '/alerts/rules', '/no/such/page']) {
      const response = await page.request.get(`${service.httpUrl}${path}`, {
        headers: { accept: 'text/html' },
      })
      const policy = response.headers()['content-security-policy'] ?? ''
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("script-src 'self'")
      expect(policy).toContain("require-trusted-types-for 'script'")
      expect(policy).not.toContain('unsafe')
    }
  })

  test('a name with markup is shown as it was written, and does nothing', async () => {
    const { page } = await browser.open(service, '/devices/robot-1', { login: ADMIN })
    await page.getByRole('heading', { level: 1 }).getByText('<img src=x').waitFor()
    expect(await page.title()).not.toBe('taken')
  })

  test('what was shown stays while the service is away, and the page recovers by itself', async () => {
    const { page } = await browser.open(service, '/alerts/rules', { login: ADMIN, expected: AWAY })
    await page.getByText('There is no rule yet').waitFor()
    service.kill('SIGKILL')
    await service.ended
    await page.getByText(/Not connected since/).waitFor()
    await page.getByText('There is no rule yet').waitFor()
    service = await service.again()
    admin = await service.admin()
    await page.getByText(/Not connected since/).waitFor({ state: 'detached' })
    await page.locator('.freshness-live').waitFor()
  })

  test('a log-out in one tab is one in all', async () => {
    const { page, context } = await browser.open(service, '/me', { login: ADMIN })
    const other = await context.newPage()
    await other.goto(`${service.httpUrl}/alerts`)
    await other.getByRole('heading', { level: 1, name: 'Alerts' }).waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
    await other.getByRole('button', { name: 'Log in' }).waitFor()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
  })

  test('a session that was ended by an admin asks for a login over the page, and keeps what was written', async () => {
    const account = { email: 'otto@example.com', password: 'a horse of course' }
    const { body } = await admin.post('/auth/register', { ...account, name: 'Otto', role: 'operator' })
    const { page } = await browser.open(service, '/alerts/rules/new', {
      login: account,
      expected: [/401/, /WebSocket/],
    })
    await page.getByLabel('Name').fill('half written')
    await admin.call('PATCH', `/users/${String(body['id'])}`, { disabled: true })
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
    await admin.call('PATCH', `/users/${String(body['id'])}`, { disabled: false })
    await page.getByLabel('E-mail').fill(account.email)
    await page.getByLabel('Password').fill(account.password)
    await page.getByRole('dialog').getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await page.getByLabel('Name').inputValue()).toBe('half written')
  })

  test('the theme and the language that were chosen stay', async () => {
    const { page } = await browser.open(service, '/me', { login: ADMIN })
    await page.getByLabel('Theme').selectOption('dark')
    await page.getByLabel('Language').selectOption('de')
    await page.getByRole('heading', { level: 1, name: 'Profil und Einstellungen' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Profil und Einstellungen' }).waitFor()
    await until(
      'the page is dark',
      async () => (await page.evaluate('document.documentElement.dataset.theme')) === 'dark',
    )
    expect(await page.evaluate('document.documentElement.lang')).toBe('de')
  })
})
