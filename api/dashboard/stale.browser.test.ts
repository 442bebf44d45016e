// What a page must not show: parts of another thing than its address names, the work of another person, what was true before
// a pause, and a short list as if it were the whole.
import { connectAsync } from 'mqtt'
import { beforeAll, describe, expect, test } from 'vitest'
import { until } from '../blackbox/testing/service.ts'
import { connectDevice, publish } from '../blackbox/testing/service-clients.ts'
import { registerDevice } from '../blackbox/testing/service-rest.ts'
import { CHROMIUM } from './testing/browser.ts'
import { dashboardSuite } from './testing/suite.ts'
import { go } from './testing/walk.ts'

const suite = dashboardSuite()
/** A page of a list has no more rows. */
const PAGE = 200
let token = ''

describe.skipIf(CHROMIUM === undefined)('a page that has been open for long, and lists of many', () => {
  beforeAll(async () => {
    token = await registerDevice(suite.admin, 'oven-1', { group: 'bakery' })
    await registerDevice(suite.admin, 'oven-2', { group: 'kitchen' })
  })

  test('an image that is older than those of the list is rolled out where its link says so', async () => {
    const first = await upload('0.0.1')
    for (let n = 1; n <= PAGE; n++) await upload(`1.0.${n}`)
    const { page } = await suite.open(`/rollouts/new?firmware=${first}`, { expected: [/404/] })
    const chosen = page.getByLabel('Image').locator('option:checked')
    await expect.poll(() => chosen.textContent()).toBe('0.0.1 · mqtt_device')
    await page.getByText(`The newest ${PAGE} of ${PAGE + 1} images are offered.`).waitFor()
    // One that is no longer there is not replaced by another one.
    await go(page, '/rollouts/new?firmware=fw_none')
    await page.getByText('no such firmware').first().waitFor()
    expect(await page.getByRole('button', { name: 'Preview' }).count()).toBe(0)
  })

  test('an address of a device or of the system at which there is no page says so', async () => {
    const { page } = await suite.open('/devices/oven-1/nowhere')
    await page.getByText('There is no page at /devices/oven-1/nowhere.').waitFor()
    await go(page, '/system/nowhere')
    await page.getByText('There is no page at /system/nowhere.').waitFor()
    expect(await page.title()).toBe('Page not found · Fleet')
  })

  test('what was looked at is not sent to others whom the address names since', async () => {
    const { page } = await suite.open('/commands/new?target=devices&which=oven-1&command=stop')
    await page.getByRole('button', { name: 'Preview recipients of stop' }).click()
    const send = page.getByRole('button', { name: 'Send stop to 1 device' })
    await send.waitFor()
    await go(page, '/commands/new?target=devices&which=oven-2&command=stop')
    await send.waitFor({ state: 'detached' })

    await go(page, '/rollouts/new?target=devices&which=oven-1')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByRole('button', { name: 'Update 1 device' }).waitFor()
    await go(page, '/rollouts/new?target=devices&which=oven-2')
    await page.getByRole('button', { name: 'Preview' }).waitFor()
  })

  test('what is written about one rule is not on the page of another one', async () => {
    const [a, b] = [await makeRule('rule a'), await makeRule('rule b')]
    const { page } = await suite.open(`/alerts/rules/${a}`)
    const name = page.getByLabel('Name')
    await expect.poll(() => name.inputValue()).toBe('rule a')
    await go(page, `/alerts/rules/${b}`)
    await expect.poll(() => name.inputValue()).toBe('rule b')
    await name.fill('half written')
    await go(page, `/alerts/rules/${a}`)
    await expect.poll(() => name.inputValue()).toBe('rule a')
  })

  test('a command that is typed into the palette is in the form, where another was to be sent again', async () => {
    await registerDevice(suite.admin, 'kettle-7')
    await suite.admin.post('/commands/kettle-7', { command: 'brew', data: { cups: 2 } })
    const { page } = await suite.open('/devices/kettle-7/commands')
    await page.getByRole('button', { name: 'Send again…' }).click()
    const name = page.getByLabel('Command name')
    await expect.poll(() => name.inputValue()).toBe('brew')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('kettle-7 rinse')
    await page.getByRole('option', { name: /^Send rinse to kettle-7/ }).click()
    await page.waitForURL(/command=rinse/)
    await expect.poll(() => name.inputValue()).toBe('rinse')
    await page.getByRole('button', { name: 'Send again…' }).click()
    await expect.poll(() => name.inputValue()).toBe('brew')
  })

  test('alerts that are selected in one tab of the inbox are not acted on in another', async () => {
    const device = await connectDevice(suite.service, 'oven-1', token)
    await publish(device, 'oven-1', { heat: 250 })
    const { page } = await suite.open('/alerts')
    await page.getByRole('link', { name: 'rule a' }).waitFor()
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
    const acknowledge = page.getByRole('button', { name: 'Acknowledge' })
    await acknowledge.waitFor()
    await page.getByRole('link', { name: 'Resolved', exact: true }).click()
    await acknowledge.waitFor({ state: 'detached' })
    await device.endAsync()
  })

  test('filters of the inbox stay when another of its tabs is opened', async () => {
    const { page } = await suite.open('/alerts?severity=critical&device=oven-1&page=2')
    await page.getByRole('link', { name: 'Resolved', exact: true }).click()
    await page.waitForURL(({ search }) => search === '?severity=critical&device=oven-1&state=resolved')
    await page.getByRole('link', { name: 'Firing', exact: true }).click()
    await page.waitForURL(({ search }) => search === '?severity=critical&device=oven-1')
  })

  test('what changed during a pause is there when the page goes on', async () => {
    const { page, context } = await suite.open('/devices/oven-1/shadow')
    const witness = await context.newPage()
    await witness.goto(`${suite.service.httpUrl}/devices/oven-1/shadow`)
    for (const each of [page, witness]) await each.locator('.freshness-live').waitFor()
    await page.getByText('Version 0', { exact: true }).waitFor()
    await page.keyboard.press('.')
    await page.locator('.freshness-paused').waitFor()
    await suite.admin.call('PATCH', '/devices/oven-1', { name: 'The first oven' })
    await suite.admin.call('PUT', '/shadows/oven-1/desired', { heat: 180 })
    await witness.getByRole('heading', { level: 1, name: 'The first oven' }).waitFor()
    await witness.getByText('Version 1', { exact: true }).waitFor()
    expect(await page.getByText('Version 0', { exact: true }).count()).toBe(1)
    await page.keyboard.press('.')
    await page.getByRole('heading', { level: 1, name: 'The first oven' }).waitFor()
    await page.getByText('Version 1', { exact: true }).waitFor()
  })

  test('an invitation whose groups were refused is sent again with others', async () => {
    const { page } = await suite.open('/system/users', { expected: [/422/] })
    await page.getByRole('button', { name: 'Invite' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Olga')
    await dialog.getByLabel('E-mail').fill('olga@example.com')
    await dialog.getByLabel('Groups').fill('bakery//oven')
    await dialog.getByRole('button', { name: 'Invite' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Groups').fill('bakery')
    await dialog.getByRole('button', { name: 'Invite' }).click()
    await dialog.getByText('It is shown only once').waitFor()
    const users = (await suite.admin.get('/users')).body['data'] as readonly { readonly groups: string[] }[]
    expect(users.map(({ groups }) => groups)).toContainEqual(['bakery'])
  })

  test('every page of what a channel was sent can be read', async () => {
    const made = await suite.admin.post('/alerts/channels', {
      ...{ name: 'hook', type: 'webhook' },
      url: 'https://hooks.example.com/fleet',
    })
    const id = String(made.body['channel_id'])
    const { page } = await suite.open('/alerts/channels', {
      // A channel is tested a few times a minute only, and so many deliveries take long to come about.
      before: (context) =>
        context.route('**/deliveries?*', async (route) => {
          const at = Number(new URL(route.request().url()).searchParams.get('page') ?? 1)
          const json = { data: [delivery(at, id)], page: at, per_page: 50, total: 51, total_pages: 2 }
          await route.fulfill({ json })
        }),
    })
    await page.getByRole('button', { name: 'Deliveries' }).click()
    await page.getByText('alert.page1').waitFor()
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByText('alert.page2').waitFor()
  })

  test('a mute of this device is found among hundreds of others, and one of some alerts mutes not the device', async () => {
    const ends_at = new Date(Date.now() + 86_400_000).toISOString()
    const mute = (matchers: object) =>
      suite.admin.post('/alerts/silences', { matchers, ends_at, comment: 'rewiring' })
    await mute({ device_id: 'oven-1' })
    for (let n = 0; n < PAGE; n++) await mute({ device_id: 'oven-2', severity: ['info'] })
    const { page } = await suite.open('/devices/oven-1/alerts')
    await page.getByRole('button', { name: 'Unmute' }).waitFor()
    await go(page, '/devices/oven-2/alerts')
    await page.getByRole('button', { name: '8 hours' }).waitFor()
  })

  test('why a device was refused stays told, however many others are refused', async () => {
    const others = Array.from({ length: 21 }, (_, n) => `other-${n}`)
    for (const id of others) await registerDevice(suite.admin, id)
    const { page } = await suite.open('/devices/new')
    await page.getByLabel('Name').fill('Thermometer')
    await page.getByLabel('Device id').fill('thermo-1')
    await page.getByRole('button', { name: 'Register' }).click()
    await page.getByText('thermo-1 is registered').waitFor()
    for (const clientId of ['thermo-1', ...others]) await refuse(clientId)
    await until('all refusals are in the audit', async () => {
      const { body } = await suite.admin.get('/audit?action=mqtt.connect&outcome=refused')
      return Number(body['total']) > others.length
    })
    const asked = () => page.waitForResponse((response) => response.url().includes('/api/v1/audit'))
    await asked()
    await asked()
    await page.getByText('The password is not a token of this service.').waitFor()
  })

  test('the page of an alert about the fleet follows what somebody else does about it', async () => {
    await suite.admin.post('/alerts/rules', {
      ...{ name: 'somebody is there', target: { type: 'all' } },
      condition: { kind: 'fleet', of: { kind: 'state', in: ['online'] }, op: '>', value: 0 },
    })
    const oven = await connectDevice(suite.service, 'oven-1', token)
    const id = await until('the alert fires', async () => {
      const { body } = await suite.admin.get('/alerts')
      const alerts = body['data'] as readonly {
        readonly alert_id: string
        readonly device_id: string | null
      }[]
      return alerts.find(({ device_id }) => device_id === null)?.alert_id
    })
    const { page } = await suite.open(`/alerts/${id}`)
    await page.getByRole('button', { name: 'Acknowledge', exact: true }).waitFor()
    // The page hears of what is done once it has subscribed.
    const taken = page.getByRole('button', { name: 'Undo acknowledgement' })
    const take = async () => {
      await suite.admin.post(`/alerts/${id}/unack`, {})
      await suite.admin.post(`/alerts/${id}/ack`, {})
      return await taken.count()
    }
    await expect.poll(take, { interval: 2000 }).toBe(1)
    await oven.endAsync()
  })

  test('an undo that leaves the change on a device says so', async () => {
    await registerDevice(suite.admin, 'kiln-1')
    await registerDevice(suite.admin, 'kiln-2')
    const { page } = await suite.open('/devices?q=id:kiln')
    await page.getByText(/2 of \d+ devices/).waitFor()
    await page.keyboard.press('*')
    await page.keyboard.press('a')
    await page.getByRole('button', { name: 'Tag', exact: true }).click()
    await page.getByLabel('Add tags').fill('hot')
    await page.getByRole('button', { name: 'Preview changes' }).click()
    await page.getByRole('button', { name: 'Change 2 devices' }).click()
    await page.getByText('2 devices were changed').waitFor()
    await suite.admin.call('DELETE', '/devices/kiln-2')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText(/1 device keeps the change: .*decommissioned/).waitFor()
    expect((await suite.admin.get('/devices/kiln-1')).body['tags']).toEqual([])
  })

  test('a token that is hidden after its minute is in no program either', async () => {
    const { page } = await suite.open('/')
    await page.clock.install()
    await go(page, '/devices/new')
    await page.getByLabel('Name').fill('Grill')
    await page.getByRole('button', { name: 'Register' }).click()
    const program = page.locator('.copy-block code')
    await expect.poll(() => program.textContent()).toMatch(/-P 'ey/)
    await page.clock.fastForward('01:01')
    await page.getByText('The token is hidden now.').waitFor()
    await expect.poll(() => program.textContent()).toContain("-P '$TOKEN'")
    await page.getByRole('button', { name: 'Issue another token' }).click()
    await expect.poll(() => program.textContent()).toMatch(/-P 'ey/)
  })

  test('who logs in where somebody else was sees nothing of what the other one saw', async () => {
    const account = { email: 'bob@example.com', password: 'a horse of course' }
    const { body } = await suite.admin.post('/auth/register', { ...account, name: 'Bob', role: 'viewer' })
    await suite.admin.call('PATCH', `/users/${String(body['id'])}`, { groups: ['bakery'] })
    // Only rows in sight are in the page.
    const { page, context } = await suite.open('/devices?q=id:oven')
    await page.locator('.grid-row', { hasText: 'oven-2' }).waitFor()
    const other = await context.newPage()
    await other.goto(`${suite.service.httpUrl}/login`)
    await other.getByLabel('E-mail').fill(account.email)
    await other.getByLabel('Password').fill(account.password)
    await other.getByRole('button', { name: 'Log in' }).click()
    await other.getByText('in bakery').waitFor()
    await page.locator('.grid-row', { hasText: 'oven-2' }).waitFor({ state: 'detached' })
    await page.locator('.grid-row', { hasText: 'oven-1' }).waitFor()
  })
})

async function upload(version: string): Promise<string> {
  const form = new FormData()
  form.set('version', version)
  form.set('device_type', 'mqtt_device')
  form.set('file', new Blob([`the image ${version}`]), 'oven.bin')
  const answer = await fetch(`${suite.service.httpUrl}/api/v1/ota/firmware`, {
    method: 'POST',
    headers: { authorization: `Bearer ${suite.admin.token}` },
    body: form,
  })
  const { firmware_id } = (await answer.json()) as { readonly firmware_id: string }
  expect(firmware_id).toMatch(/^fw_/)
  return firmware_id
}

async function makeRule(name: string): Promise<string> {
  const { body } = await suite.admin.post('/alerts/rules', {
    ...{ name, severity: 'warning', target: { type: 'all' } },
    condition: { kind: 'threshold', metric: 'heat', op: '>', value: 200 },
  })
  return String(body['rule_id'])
}

async function refuse(clientId: string): Promise<void> {
  const wrong = { clientId, username: clientId, password: 'no token', reconnectPeriod: 0 }
  await expect(connectAsync(suite.service.mqttUrl, wrong)).rejects.toThrow()
}

const delivery = (page: number, channel_id: string) => ({
  ...{ delivery_id: `del_${page}`, channel_id, alert_id: null, event: `alert.page${page}` },
  ...{ state: 'delivered', attempts: [], created_at: '2026-03-01T12:00:00.000Z' },
})
