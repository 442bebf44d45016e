// What operators do in the dashboard beside devices: alerts and their rules, commands to many, the system's pages.
import { beforeAll, describe, expect, test } from 'vitest'
import { until } from '../blackbox/testing/service.ts'
import { connectDevice, publish } from '../blackbox/testing/service-clients.ts'
import { registerDevice } from '../blackbox/testing/service-rest.ts'
import { axeViolations, barriers } from './testing/axe.ts'
import { CHROMIUM } from './testing/browser.ts'
import { dashboardSuite } from './testing/suite.ts'
import { VIEWS } from './testing/views.ts'
import { go } from './testing/walk.ts'

/** Twenty pages: a busy machine takes minutes. */
const SLOW = { timeout: 600_000 }

const suite = dashboardSuite()
let token: string

describe.skipIf(CHROMIUM === undefined)('operating the fleet in the dashboard', () => {
  beforeAll(async () => {
    token = await registerDevice(suite.admin, 'oven-1')
    await suite.admin.call('PATCH', '/devices/oven-1', { group: 'bakery', tags: ['hot'] })
    const device = await connectDevice(suite.service, 'oven-1', token)
    await publish(device, 'oven-1', { temperature: 20 })
  })

  test('a rule made in the dashboard fires, and the alert is taken over, discussed and resolved there', async () => {
    const { page } = await suite.open('/alerts/rules')
    await page.getByRole('button', { name: 'New rule' }).click()
    await page.getByLabel('Name').fill('oven too hot')
    await page.getByLabel('Severity').selectOption('critical')
    await page.getByLabel('Metric').fill('temperature')
    await page.getByLabel('Value').fill('200')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'oven too hot' }).waitFor()

    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Alerts' }).click()
    await page.getByText('No alerts firing').waitFor()
    const device = await connectDevice(suite.service, 'oven-1', token)
    await publish(device, 'oven-1', { temperature: 250 })
    // The inbox hears of it by itself.
    await page.getByText('temperature is 250, the limit is 200').waitFor()
    await page.getByLabel('Group by').selectOption('rule')
    const groups = page.getByRole('table', { name: 'Groups of alerts' })
    await groups.getByRole('row', { name: /critical oven too hot.* 1 1 / }).waitFor()
    expect(new URL(page.url()).searchParams.get('by')).toBe('rule')
    expect(await barriers(page)).toEqual([])
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
    await page.keyboard.press('h')
    const snooze = page.getByRole('dialog')
    await snooze.getByLabel('Until').selectOption('it is resolved')
    await snooze.getByRole('button', { name: 'Snooze 1 alert' }).click()
    await page.getByText('No alerts firing').waitFor()
    const [snoozed] = (await suite.admin.get('/alerts')).body['data'] as { readonly snoozed_until: string }[]
    expect(Date.parse(snoozed?.snoozed_until ?? '')).toBeGreaterThan(Date.now() + 300 * 86_400_000)
    await page.getByLabel('Group by').selectOption('nothing')
    await page.getByRole('link', { name: 'Snoozed', exact: true }).click()
    await page.getByRole('link', { name: 'oven too hot' }).waitFor()
    expect((await suite.admin.get('/alerts?snoozed=true')).body['total']).toBe(1)
    await page.getByRole('link', { name: 'oven too hot' }).click()
    await page.getByText('250').first().waitFor()
    await page.getByRole('application', { name: 'temperature of oven-1' }).waitFor()
    await page.getByText('This rule fired 1 time in this period.').waitFor()
    await page.getByRole('button', { name: 'End the snooze' }).click()
    await page.getByRole('button', { name: 'Snooze', exact: true }).waitFor()
    await page.getByLabel('Your comment').fill('looking <b>into</b> it')
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByText('looking <b>into</b> it').waitFor()
    await page.getByRole('button', { name: 'Acknowledge' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Acknowledge 1 alert' }).click()
    await page.getByRole('button', { name: 'Undo acknowledgement' }).waitFor()
    await page.getByRole('button', { name: 'Resolve' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Resolve 1 alert' }).click()
    await until('the alert is resolved', async () => {
      const { body } = await suite.admin.get('/alerts?state=resolved')
      return body['total'] === 1
    })
    await device.endAsync()
  })

  test('a rule is tried on stored points before it is saved, and what it would have said is drawn', async () => {
    const device = await connectDevice(suite.service, 'oven-1', token)
    const end = Math.floor(Date.now() / 60_000) * 60_000 - 60_000
    // Ten minutes each, with the pressure too high in two of them that do not follow one another.
    const reports = [1, 9, 9, 1, 9, 1].map((pressure, index) => ({
      timestamp: new Date(end - (5 - index) * 600_000).toISOString(),
      pressure,
    }))
    await publish(device, 'oven-1', reports)
    await device.endAsync()
    await until('the points are stored', async () => {
      const { body } = await suite.admin.get('/telemetry/oven-1/history?metric=pressure&from=-2h')
      return (body['data'] as readonly unknown[] | undefined)?.length === reports.length
    })
    const { page } = await suite.open('/alerts/rules/new', { expected: [/422/] })
    const run = page.getByRole('button', { name: 'Run test' })
    // What is wrong with the rule is said by the service, with the place.
    await run.click()
    const problem = page.getByRole('alert')
    await problem.getByText('/rule/condition/metric', { exact: true }).waitFor()
    // What to do about it in general, and what to name to whoever looks into the log.
    await problem.getByText('Correct what errors lists.').waitFor()
    await problem.getByText(/^req_/).waitFor()
    await problem.getByRole('button', { name: 'Copy' }).waitFor()
    await page.getByLabel('Metric').fill('pressure')
    await page.getByLabel('Value').fill('5')
    await run.click()
    await page.getByText('It would have fired 2 times on 1 device, with').waitFor()
    const fired = page.getByRole('table', { name: 'What would have fired' })
    await expect.poll(() => fired.getByRole('row').count()).toBe(3)
    await page.getByRole('application', { name: 'pressure of oven-1' }).waitFor()
    expect(await axeViolations(page)).toEqual([])
    await page.getByLabel('Value').fill('50')
    await page.getByText('The rule has changed since').waitFor()
    await run.click()
    await page.getByText('It would have fired 0 times').waitFor()
    expect((await suite.admin.get('/alerts/rules?q=pressure')).body['total']).toBe(0)
  })

  test('a command to many is looked at first, and is not sent when the target has changed since', async () => {
    const { page } = await suite.open('/commands/new?target=tag&which=hot', {
      expected: [/409/],
    })
    await page.getByLabel('Commands of type').selectOption('mqtt_device')
    await page.getByLabel('Command name').fill('cool_down')
    await page.getByRole('button', { name: 'Preview recipients of cool_down' }).click()
    await page.getByRole('heading', { name: 'Reaches 1 device' }).waitFor()
    await registerDevice(suite.admin, 'oven-2')
    await suite.admin.call('PATCH', '/devices/oven-2', { tags: ['hot'] })
    await page.getByRole('button', { name: 'Send cool_down to 1 device' }).click()
    await page.getByText('it now has 2 devices instead of 1').waitFor()
    expect((await suite.admin.get('/commands/$broadcast')).body['total']).toBe(0)

    // The look comes back by itself, with what changed.
    await page.getByText('mqtt_device: 1 → 2').waitFor()
    await page.getByRole('heading', { name: 'Reaches 2 devices' }).waitFor()
    await page.getByRole('button', { name: 'Send cool_down to 2 devices' }).click()
    await page.getByRole('heading', { level: 1, name: 'cool_down' }).waitFor()
    await page.getByRole('link', { name: 'oven-2' }).waitFor()
    await page.getByRole('button', { name: 'Cancel open commands' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel open commands' }).click()
    await page.getByRole('row', { name: /oven-2 cancelled/ }).waitFor()

    await page.goto(`${suite.service.httpUrl}/commands/new?target=filter&which=tag:hot&command=stop`)
    await page.getByText('Timeout and priority').click()
    await page.getByLabel('Priority').selectOption('critical')
    await page.getByRole('button', { name: 'Preview recipients of stop' }).click()
    const stop = page.getByRole('button', { name: 'Send stop to 2 devices' })
    await stop.click()
    await stop.press('Enter')
    await page.getByText('Press Enter again to send.').waitFor()
    expect((await suite.admin.get('/commands/$broadcast')).body['total']).toBe(1)
    await stop.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'stop' }).waitFor()
    expect((await suite.admin.get('/commands/$broadcast')).body['total']).toBe(2)
  })

  test('a command that is sent again to those that failed has its priority and its timeout', async () => {
    const sent = await suite.admin.post('/commands/$broadcast', {
      target: { type: 'devices', value: ['oven-1'] },
      command: 'stop',
      data: { hard: true },
      priority: 'critical',
      timeout_sec: 1,
    })
    const { page } = await suite.open(`/commands/broadcasts/${String(sent.body['broadcast_id'])}`)
    await page.getByRole('button', { name: 'Send again to failed devices' }).click()
    await page.getByText('Timeout and priority').click()
    expect(await page.getByLabel('Priority').inputValue()).toBe('critical')
    expect(await page.getByLabel('Timeout in seconds').inputValue()).toBe('1')
    expect(await page.getByLabel('Parameters (JSON object)').inputValue()).toContain('"hard": true')
  })

  test('maintenance that is ended in the preview of a device comes back with its reason, and needs a device that was heard', async () => {
    const device = await connectDevice(suite.service, 'oven-1', token)
    const toMaintenance = { status: 'maintenance', status_reason: 'new wheels' }
    await suite.admin.call('PATCH', '/devices/oven-1', toMaintenance)
    const { page } = await suite.open('/devices?peek=oven-1')
    const preview = page.locator('.peek')
    await preview.getByText('new wheels').waitFor()
    await preview.getByRole('button', { name: 'End maintenance' }).click()
    await page.getByText('Maintenance ended.').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect
      .poll(async () => (await suite.admin.get('/devices/oven-1')).body)
      .toMatchObject(toMaintenance)
    await suite.admin.call('PATCH', '/devices/oven-1', { status: 'online' })
    await device.endAsync()

    await registerDevice(suite.admin, 'silent-1')
    await go(page, '/devices?peek=silent-1')
    const start = preview.getByRole('button', { name: 'Start maintenance' })
    await expect.poll(() => start.getAttribute('aria-disabled')).toBe('true')
    await suite.admin.call('DELETE', '/devices/silent-1')
  })

  test('dead letters of a reason are counted before they are discarded', async () => {
    const device = await connectDevice(suite.service, 'oven-1', token)
    await device.publishAsync('fleet/oven-1/status', '{"status":', { qos: 1 })
    await device.publishAsync('fleet/oven-1/status', '{"status":1', { qos: 1 })
    await device.endAsync()
    const { page } = await suite.open('/system/dead-letters')
    await page.getByRole('button', { name: 'Show message' }).nth(1).click()
    const letter = page.getByRole('dialog', { name: 'MALFORMED_STATUS' })
    await letter.getByRole('button', { name: 'Discard' }).click()
    await letter.getByRole('button', { name: 'Discard for good' }).click()
    await page.getByText('Message discarded.').waitFor()
    await page
      .getByRole('row', { name: /MALFORMED_STATUS/ })
      .first()
      .getByRole('button', { name: 'Discard' })
      .click()
    await page.getByRole('dialog').getByText('Messages with MALFORMED_STATUS to discard: 1').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await page.getByText('No dead letters').waitFor()
  })

  test('a message that could not be processed is processed once more', async () => {
    const device = await connectDevice(suite.service, 'oven-1', token)
    await device.publishAsync('fleet/oven-1/status', '{"status":2', { qos: 1 })
    await device.endAsync()
    const { page } = await suite.open('/system/dead-letters')
    await page
      .getByRole('row', { name: /MALFORMED_STATUS/ })
      .first()
      .getByRole('button', { name: 'Replay' })
      .click()
    await page.getByRole('dialog').getByText('1').first().waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    // It is as wrong as before, so it is set aside again.
    await page
      .getByRole('row', { name: /MALFORMED_STATUS/ })
      .first()
      .waitFor()
    // The look before it is a call of its own. The audit is written a moment later.
    await until('the audit has both', async () => {
      const { body } = await suite.admin.get('/audit?action=replayDeadLetters')
      return body['total'] === 2
    })
    await suite.admin.post('/dead-letters/discard', {})
  })

  test('who sent a command is named to those who may list users, and to nobody else', async () => {
    const account = { email: 'oskar@example.com', password: 'a horse of course' }
    await suite.admin.post('/auth/register', { ...account, name: 'Oskar', role: 'operator' })
    const login = await suite.service.nobody.post('/auth/login', account)
    const operator = suite.service.nobody.as(String(login.body['access_token']))
    const sent = await operator.post('/commands/oven-1', { command: 'ring' })
    const mine = await suite.admin.post('/commands/oven-1', { command: 'rest' })
    const { page } = await suite.open('/commands')
    await page.getByRole('row', { name: /^ring .*Oskar/ }).waitFor()
    const { page: other } = await suite.open('/commands', { login: account })
    await other.getByRole('row', { name: /^ring .*Oskar/ }).waitFor()
    const adminId = String((await suite.admin.get('/auth/me')).body['id'])
    await other.getByRole('row', { name: new RegExp(`^rest .*${adminId}`) }).waitFor()
    for (const { body } of [sent, mine])
      await suite.admin.call('DELETE', `/commands/oven-1/${String(body['command_id'])}`)
  })

  test('a person sees their logins and changes their password without being thrown out', async () => {
    const account = { email: 'paula@example.com', password: 'a horse of course' }
    await suite.admin.post('/auth/register', { ...account, name: 'Paula', role: 'viewer' })
    const { page } = await suite.open('/me', { login: account, expected: [/401/, /WebSocket/] })
    await page.getByText('this one').waitFor()
    await page.getByLabel('Current password').fill(account.password)
    await page.getByLabel('New password').fill('a horse of another course')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText('Password changed.').waitFor()
    await page.reload()
    await page.getByText('paula@example.com').waitFor()
  })

  test('an invited person logs in with the password that is shown once', async () => {
    const { page } = await suite.open('/system/users')
    await page.getByRole('button', { name: 'Invite' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Olga')
    await dialog.getByLabel('E-mail').fill('olga@example.com')
    await dialog.getByRole('button', { name: 'Invite' }).click()
    await dialog.getByText('It is shown only once').waitFor()
    await dialog.getByRole('button', { name: 'Show' }).click()
    const password = (await dialog.locator('code').textContent()) ?? ''
    const { status } = await suite.service.nobody.post('/auth/login', { email: 'olga@example.com', password })
    expect(status).toBe(200)
  })

  test('a provisioning key made in the dashboard registers a device once it is approved there, until it is revoked', async () => {
    const { page } = await suite.open('/system/provisioning-keys', { expected: [/422/] })
    await page.getByText('No provisioning keys').waitFor()
    await page.getByRole('button', { name: 'New key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name, such as a batch').fill('line 3')
    await dialog.getByLabel('Number of devices').fill('0')
    await dialog.getByLabel('Device ids').fill('pump-*')
    await dialog.getByLabel('Each device waits for approval').check()
    await dialog.getByRole('button', { name: 'New key' }).click()
    await dialog.locator('.field-error').waitFor()
    await dialog.getByLabel('Number of devices').fill('2')
    await dialog.getByRole('button', { name: 'New key' }).click()
    await dialog.getByText('This key is shown only once').waitFor()
    await dialog.getByRole('button', { name: 'Show' }).click()
    const key = await dialog.locator('code').textContent()
    await dialog.getByRole('button', { name: 'Done' }).click()
    const ask = async () =>
      (await suite.service.nobody.post('/auth/provision', { key, device_id: 'pump-1' })).status
    expect(await ask()).toBe(409)
    await page.reload()
    await page.getByRole('button', { name: 'Decide (1)' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
    await page.getByText('registered on its next request').waitFor()
    expect(await ask()).toBe(201)
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await page.getByText('1 of 2').waitFor()
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('No provisioning keys').waitFor()
    expect(await ask()).toBe(401)
  })

  test('the operating views have no barriers', SLOW, async () => {
    const { page } = await suite.open('/me', {
      // A repair that never ran is answered with 404, and the page says that none was needed.
      expected: [/telemetry\/repair/],
    })
    for (const path of VIEWS) {
      await go(page, path)
      expect([path, await barriers(page)]).toEqual([path, []])
    }
  })
})
