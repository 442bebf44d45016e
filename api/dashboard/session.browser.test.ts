// The session and the connection of the dashboard: what a browser keeps, what it survives, and what it is never told.
import { beforeAll, describe, expect, test } from 'vitest'
import type { OperationId } from '../../schemas/client/calls.ts'
import { OPERATIONS } from '../../schemas/operations/all.ts'
import { ROLES } from '../../schemas/vocabulary.ts'
import { ADMIN } from '../blackbox/testing/service.ts'
import { registerDevice } from '../blackbox/testing/service-rest.ts'
import { axeViolations, barriersOfThemes, settled } from './testing/axe.ts'
import { CHROMIUM } from './testing/browser.ts'
import { heldBack } from './testing/held-back.ts'
import { AWAY, dashboardSuite } from './testing/suite.ts'
import { go } from './testing/walk.ts'

const suite = dashboardSuite()

const HOSTILE = '<img src=x onerror="document.title=\'taken\'"> \u202egnp.exe'
describe.skipIf(CHROMIUM === undefined)('the session and the connection of the dashboard', () => {
  beforeAll(async () => {
    await registerDevice(suite.admin, 'robot-1')
    await suite.admin.call('PATCH', '/devices/robot-1', { name: HOSTILE.replace('\u202e', '') })
  })

  test('a reload goes on without a login, and no token is in the storage or the address', async () => {
    const { page, context } = await suite.open('/alerts')
    await page.getByRole('heading', { level: 1, name: 'Alerts' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Alerts' }).waitFor()
    const stored = String(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])'))
    expect(stored).not.toMatch(/eyJ|rt_/)
    expect(page.url()).toBe(`${suite.service.httpUrl}/alerts`)
    const cookies = await context.cookies(`${suite.service.httpUrl}/api/v1/auth/session`)
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Strict', path: '/api/v1/auth/session' }])
    // Scripts of the page do not see it.
    expect(await page.evaluate('document.cookie')).toBe('')
  })

  test('every page of the dashboard comes with the policy that allows its own files only', async () => {
    for (const path of ['/', '/devices', '/alerts/rules', '/no/such/page']) {
      const response = await fetch(`${suite.service.httpUrl}${path}`, { headers: { accept: 'text/html' } })
      const policy = response.headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("script-src 'self'")
      expect(policy).toContain("require-trusted-types-for 'script'")
      expect(policy).not.toContain('unsafe')
    }
  })

  test('a name with markup is shown as it was written, and does nothing', async () => {
    const { page } = await suite.open('/devices/robot-1')
    await page.getByRole('heading', { level: 1 }).getByText('<img src=x').waitFor()
    expect(await page.title()).not.toBe('taken')
  })

  test('what was shown stays while the service is away, and the page recovers by itself', async () => {
    const { page } = await suite.open('/alerts/rules/new', { expected: AWAY })
    await page.getByLabel('Name').waitFor()
    // Views come as files of their own; the service has none to give later.
    for (const path of ['/alerts', '/alerts/rules']) await go(page, path)
    await page.getByText('No rules yet').waitFor()
    await suite.stop()
    await page.getByText(/Not connected since/).waitFor()
    await page.getByText('No rules yet').waitFor()
    await page.getByText(/^as of \d\d:\d\d:\d\d$/).waitFor()
    await go(page, '/alerts')
    await page.getByText(/Alerts may be missing since/).waitFor()
    // What could not be read is said; nobody did anything, so it interrupts nobody.
    await page.locator('.problem').first().waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    await go(page, '/alerts/rules/new')
    const save = page.getByRole('button', { name: 'Save', exact: true })
    expect(await save.getAttribute('title')).toBe('Not connected to the service.')
    expect(await save.getAttribute('aria-disabled')).toBe('true')
    await go(page, '/alerts/rules')
    await page.locator('.problem').first().waitFor()
    await suite.startAgain()
    await page.getByText(/Not connected since/).waitFor({ state: 'detached' })
    // What could not be read meanwhile is asked for again by itself.
    await expect.poll(() => page.locator('.problem').count()).toBe(0)
    await page.getByText('No rules yet').waitFor()
    await page.locator('.freshness-live').waitFor()
  })

  test('a service that says nothing while its connection stands is told of, until it speaks again', async () => {
    const { page } = await suite.open('/devices')
    await page.locator('.freshness-live').waitFor()
    suite.service.kill('SIGSTOP')
    try {
      await page.getByText(/^● no news for \d+ sec/).waitFor()
      await page.getByText(/^as of \d\d:\d\d:\d\d$/).waitFor()
      expect(await page.getByText(/Not connected since/).count()).toBe(0)
    } finally {
      suite.service.kill('SIGCONT')
    }
    await page.locator('.freshness-live').waitFor()
  })

  test('a command whose answer was lost is sent once, although the page tries again', async () => {
    const { page, context } = await suite.open('/devices/robot-1/commands', { expected: [/ERR_FAILED/] })
    let tries = 0
    await context.route('**/api/v1/commands/robot-1*', async (route) => {
      if (route.request().method() !== 'POST') return await route.continue()
      tries += 1
      if (tries > 1) return await route.continue()
      // The service has done it; the page is not told.
      await route.fetch()
      await route.abort()
    })
    await page.getByLabel('Command name').fill('ring')
    await page.getByRole('button', { name: 'Send ring' }).click()
    // It tries again by itself, with the same key.
    await expect.poll(() => tries).toBe(2)
    await page.locator('article.command', { hasText: 'ring' }).waitFor()
    expect((await suite.admin.get('/commands/robot-1')).body['total']).toBe(1)
  })

  test('a minute without the service is counted, asked for less and less often, and over by itself', async () => {
    const { page, context } = await suite.open('/devices', {
      expected: AWAY,
      before: (of) => of.clock.install(),
    })
    await page.locator('.grid-row', { hasText: 'robot-1' }).waitFor()
    await page.locator('.freshness-live').waitFor()
    await suite.stop()
    await page.getByText(/Not connected since/).waitFor()
    // A minute of the page; the service is away for as long as the test takes.
    await context.clock.fastForward(60_000)
    await page.getByText(/Not connected since/).waitFor()
    await page.locator('.grid-row', { hasText: 'robot-1' }).waitFor()
    await page.getByRole('button', { name: 'Retry now' }).click()
    await page.getByText(/Not connected since/).waitFor()
    await suite.startAgain()
    await page.locator('.freshness-live').waitFor()
    await registerDevice(suite.admin, 'robot-2')
    await page.locator('.grid-row', { hasText: 'robot-2' }).waitFor()
  })

  test('a clock that is two hours off changes no age and ends no session', async () => {
    const { page } = await suite.open('/login', {
      login: undefined,
      before: (context) => context.clock.install({ time: Date.now() + 2 * 3_600_000 }),
    })
    await page.getByLabel('E-mail').fill(ADMIN.email)
    await page.getByLabel('Password').fill(ADMIN.password)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.locator('.freshness-live').waitFor()
    await go(page, '/me')
    // The login of a moment ago, by the clock of the service.
    await page
      .locator('time.age', { hasText: /sec|min/ })
      .first()
      .waitFor()
    expect(await page.locator('time.age', { hasText: /hr/ }).count()).toBe(0)
  })

  test('a role that is taken away is gone from an open page, and what needed it says so', async () => {
    const account = { email: 'rita@example.com', password: 'a horse of course' }
    const { body } = await suite.admin.post('/auth/register', { ...account, name: 'Rita', role: 'admin' })
    const { page } = await suite.open('/system/users', { login: account, expected: [/40[13]/, /WebSocket/] })
    await page.getByRole('button', { name: 'Invite' }).waitFor()
    await suite.admin.call('PATCH', `/users/${String(body['id'])}`, { role: 'viewer' })
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
    await dialog.waitFor()
    expect(await barriersOfThemes(page)).toEqual([])
    await dialog.getByLabel('E-mail').fill(account.email)
    await dialog.getByLabel('Password').fill(account.password)
    await dialog.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('Your role is viewer; this needs admin.').waitFor()
    expect(await page.getByRole('button', { name: 'Invite' }).count()).toBe(0)
  })

  test.each(ROLES)('the role %s has the controls of what it may do, on every view', async (role) => {
    const account = { email: `role-${role}@example.com`, password: 'a horse of course' }
    await suite.admin.post('/auth/register', { ...account, name: role, role })
    // A page that asked for what its role may not have would be answered with 403.
    const { page } = await suite.open('/me', { login: account, expected: [/404/] })
    const found: string[] = []
    const wanted: string[] = []
    for (const [path, kind, name, operation] of CONTROLS) {
      if ((await page.evaluate<string>('location.pathname')) !== path) await go(page, path)
      const control = page.getByRole(kind, { name, exact: true }).first()
      const isUsable =
        (await control.count()) > 0 &&
        (await control.getAttribute('aria-disabled')) !== 'true' &&
        (await control.isEnabled())
      const access: readonly string[] = OPERATIONS[operation].access as readonly string[]
      found.push(`${path} ${name}: ${isUsable}`)
      wanted.push(`${path} ${name}: ${access.includes(role)}`)
    }
    expect(found).toEqual(wanted)
  })

  test('a hostile address shows the view as it is, and its texts stay texts', async () => {
    const { page } = await suite.open('/me', { expected: [/4(00|04|22)/] })
    const hostile = encodeURIComponent(`${HOSTILE}\0'"%`)
    const query = PARAMETERS.map((name) => `${name}=${hostile}`).join('&')
    for (const path of new Set([
      ...CONTROLS.map(([path]) => path),
      '/',
      '/telemetry',
      '/timeline',
      '/logs',
    ])) {
      await go(page, `${path}?${query}`)
      expect([path, await page.locator('main img').count(), await page.title()]).toEqual([
        path,
        0,
        expect.stringMatching(/ · Fleet$/),
      ])
    }
    // What was typed there goes into the address and back without a change.
    await go(page, `/devices?q=${hostile}&peek=${hostile}`)
    const filter = page.getByLabel('Filter devices')
    const typed = await filter.inputValue()
    expect(typed).toContain('<img src=x')
    await page.reload()
    await page.getByRole('heading', { level: 1 }).waitFor()
    await expect.poll(() => filter.inputValue()).toBe(typed)
    // An id that no text can be is no device.
    await go(page, '/devices/%E0%A4%A')
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor()
  })

  test('an operator of some groups sees nothing of the others, in the list, the map, the counts and the palette', async () => {
    const account = { email: 'gina@example.com', password: 'a horse of course' }
    await registerDevice(suite.admin, 'inside-1', { group: 'eu/a' })
    await registerDevice(suite.admin, 'outside-1', { group: 'us' })
    const { body } = await suite.admin.post('/auth/register', { ...account, name: 'Gina', role: 'operator' })
    await suite.admin.call('PATCH', `/users/${String(body['id'])}`, { groups: ['eu'] })
    const { page } = await suite.open('/devices', { login: account, expected: [/404/] })
    await page.locator('.grid-row', { hasText: 'inside-1' }).waitFor()
    expect(await page.locator('.grid-row').count()).toBe(1)
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Go to a view or a device' }).fill('side-1')
    await page.getByRole('option', { name: /inside-1/ }).waitFor()
    expect(
      (await page.getByRole('option').allTextContents()).filter((text) => text.includes('outside-1')),
    ).toEqual([])
    await page.keyboard.press('Escape')
    await go(page, '/')
    await page.getByRole('link', { name: /provisioning 1/ }).waitFor()
    await page.keyboard.press('v')
    await page.getByRole('row', { name: /eu\/a 1/ }).waitFor()
    expect(await page.getByRole('row', { name: /^us / }).count()).toBe(0)
    await go(page, '/devices/outside-1')
    await page.getByText('There is no device outside-1').waitFor()
    expect(await barriersOfThemes(page)).toEqual([])
  })

  test('two tabs whose token ends renew it once, for both', async () => {
    const { page, context } = await suite.open('/alerts', { before: (of) => of.clock.install() })
    const other = await context.newPage()
    await other.goto(`${suite.service.httpUrl}/alerts`)
    for (const tab of [page, other]) await tab.locator('.freshness-live').waitFor()
    const renewals: string[] = []
    context.on('request', (request) => {
      if (request.url().endsWith('/auth/session/refresh')) renewals.push(request.url())
    })
    // The token would end again in a tab whose day passes after the renewal.
    const held = await Promise.all([page, other].map((tab) => heldBack(tab, '**/auth/session/refresh')))
    const aDayMs = 86_400_000
    await Promise.all([page.clock.fastForward(aDayMs), other.clock.fastForward(aDayMs)])
    for (const { release } of held) release()
    await Promise.all([page, other].map((tab) => go(tab, '/alerts/rules')))
    for (const tab of [page, other]) await tab.getByText('No rules yet').waitFor()
    expect(renewals).toHaveLength(1)
  })

  test('the shell waits for six requests at most, and the overview for a dozen', async () => {
    const { page } = await suite.open('/me')
    await page.locator('.freshness-live').waitFor()
    const asked: string[] = []
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      // The icon is that of the tab; nothing on the page waits for it.
      if (!pathname.includes('/icon-')) asked.push(pathname)
    })
    const shell = page
      .waitForResponse(/\/auth\/session\/refresh$/)
      // What was asked for by then is what the first picture needs; the session is the last of it. The page before may
      // still have asked for something.
      .then(() => asked.slice(asked.indexOf('/'), asked.indexOf('/api/v1/auth/session/refresh') + 1))
    await page.goto(`${suite.service.httpUrl}/`)
    expect((await shell).length, (await shell).join('\n')).toBeLessThanOrEqual(6)
    await page.getByRole('application').waitFor()
    const scripts = asked.filter((path) => path.endsWith('.js'))
    expect(scripts.length, scripts.join('\n')).toBeLessThanOrEqual(12)
  })

  test('another build of the service is told of, and so is a line that others can read', async () => {
    let build = 'one'
    const { page, context: opened } = await suite.open('/alerts', {
      before: async (context) => {
        // Pages of this machine are secure in every browser.
        await context.addInitScript("Object.defineProperty(globalThis, 'isSecureContext', { value: false })")
        // There are no locks on such a line, and a browser may have no channel between its tabs.
        await context.addInitScript('delete Navigator.prototype.locks; delete globalThis.BroadcastChannel')
        // A second build of the whole service would take the suite minutes.
        await context.route('**/api/v1/**', async (route) => {
          const response = await route.fetch()
          await route.fulfill({ response, headers: { ...response.headers(), 'x-fleet-build': build } })
        })
      },
    })
    await page.getByText(/This connection is not encrypted/).waitFor()
    // The first answer tells the page which build it is.
    await page.getByRole('heading', { level: 1 }).waitFor()
    await settled(page)
    await page.getByRole('button', { name: 'Dismiss' }).click()
    expect(await page.getByText('A new version is available').count()).toBe(0)
    build = 'two'
    await go(page, '/alerts/rules')
    await page.getByText('A new version is available').waitFor()
    expect(await axeViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Reload', exact: true }).click()
    await page.getByText('No rules yet').waitFor()
    expect(await page.getByText('A new version is available').count()).toBe(0)
    expect(await page.getByText(/This connection is not encrypted/).count()).toBe(0)
    // The page closes while it asks.
    await opened.unrouteAll({ behavior: 'ignoreErrors' })
  })

  test('a log-out in one tab is one in all', async () => {
    const { page, context } = await suite.open('/me')
    const other = await context.newPage()
    await other.goto(`${suite.service.httpUrl}/alerts`)
    await other.getByRole('heading', { level: 1, name: 'Alerts' }).waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
    await other.getByRole('button', { name: 'Log in' }).waitFor()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
  })

  test('a session that was ended by an admin asks for a login over the page, and keeps what was written', async () => {
    const account = { email: 'otto@example.com', password: 'a horse of course' }
    const { body } = await suite.admin.post('/auth/register', { ...account, name: 'Otto', role: 'operator' })
    const { page } = await suite.open('/alerts/rules/new', {
      login: account,
      expected: [/401/, /WebSocket/],
    })
    await page.getByLabel('Name').fill('half written')
    await suite.admin.call('PATCH', `/users/${String(body['id'])}`, { disabled: true })
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
    await suite.admin.call('PATCH', `/users/${String(body['id'])}`, { disabled: false })
    await page.getByLabel('E-mail').fill(account.email)
    await page.getByLabel('Password').fill(account.password)
    await page.getByRole('dialog').getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await page.getByLabel('Name').inputValue()).toBe('half written')
  })
})

/** All that any view reads from its address. */
const PARAMETERS = [
  'action actor agg as at bulk by cause colour cols command compare data depth device devices find',
  'firmware fold follow from group held interval kind level log marks metric of outcome page peek',
  'pin program q reason rule severity show sort state status storm table target than to until view',
  'which x y zoom',
].flatMap((names) => names.split(' '))

/** A control of each view, and the operation that it is for. */
const CONTROLS: readonly (readonly [string, 'button' | 'link' | 'textbox', string, OperationId])[] = [
  ['/devices', 'link', 'Connect a device', 'registerDevice'],
  ['/devices', 'link', 'Commands', 'sendCommand'],
  ['/devices/robot-1', 'button', 'Command', 'sendCommand'],
  ['/devices/robot-1/settings', 'button', 'Issue a token', 'issueDeviceToken'],
  ['/devices/robot-1/settings', 'button', 'Decommission…', 'decommissionDevice'],
  ['/devices/robot-1/timeline', 'button', 'commands', 'listFleetCommands'],
  ['/devices/robot-1/alerts', 'button', '1 hour', 'createSilence'],
  ['/alerts/rules', 'button', 'New rule', 'createAlertRule'],
  ['/alerts/rules/new', 'button', 'Run test', 'testAlertRule'],
  ['/alerts/channels', 'button', 'New channel', 'createChannel'],
  ['/rollouts', 'button', 'New rollout', 'createDeployment'],
  ['/rollouts/firmware', 'button', 'Upload', 'uploadFirmware'],
  ['/commands/new', 'textbox', 'Command name', 'broadcastCommand'],
  ['/system', 'link', 'Device types', 'listDeviceTypes'],
  ['/system', 'link', 'Dead letters', 'listDeadLetters'],
  ['/system', 'link', 'Audit', 'listAudit'],
  ['/system', 'link', 'API keys', 'listApiKeys'],
  ['/system', 'link', 'Repair', 'startRepair'],
  ['/system/users', 'button', 'Invite', 'listUsers'],
  ['/system/repair', 'button', 'Start repair', 'startRepair'],
  ['/system/provisioning-keys', 'button', 'New key', 'createProvisioningKey'],
  ['/system/api-keys', 'button', 'New key', 'createApiKey'],
]
