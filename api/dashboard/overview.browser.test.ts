// The overview: what needs a person beside the devices, and what it says when the fleet cannot be read.
import { beforeAll, describe, expect, test } from 'vitest'
import { until } from '../blackbox/testing/service.ts'
import { connectDevice, publish } from '../blackbox/testing/service-clients.ts'
import { registerDevice } from '../blackbox/testing/service-rest.ts'
import { barriers } from './testing/axe.ts'
import { CHROMIUM } from './testing/browser.ts'
import { dashboardSuite } from './testing/suite.ts'
import { go } from './testing/walk.ts'

const suite = dashboardSuite()

describe.skipIf(CHROMIUM === undefined)('the overview', () => {
  beforeAll(async () => {
    // It stays online without a heartbeat, however long the tests take.
    const token = await registerDevice(suite.admin, 'oven-1', { heartbeat_timeout_sec: 86_400 })
    const made = await suite.admin.post('/alerts/rules', {
      name: 'oven too hot',
      severity: 'critical',
      target: { type: 'device', value: 'oven-1' },
      condition: { kind: 'threshold', metric: 'heat', op: '>', value: 200 },
    })
    expect(made.status).toBe(201)
    const device = await connectDevice(suite.service, 'oven-1', token)
    await publish(device, 'oven-1', { heat: 250 })
    await device.publishAsync('fleet/oven-1/status', '{"status":', { qos: 1 })
    await until('the rule fires', async () => (await suite.admin.get('/alerts')).body['total'] === 1)
    await until('the message is set aside', async () => {
      return (await suite.admin.get('/dead-letters')).body['total'] === 1
    })
    await device.endAsync()
  })

  test('alerts by their rule and dead letters by their reason need attention, and a hidden case comes back', async () => {
    const { page } = await suite.open('/')
    const attention = page.getByRole('region', { name: 'Needs attention' })
    await attention.getByRole('link', { name: 'oven too hot: 1 alert' }).waitFor()
    const rail = page.getByRole('navigation', { name: 'Main' })
    await expect
      .poll(() => rail.getByRole('link', { name: 'Alerts' }).getAttribute('title'))
      .toBe('1 alert is open')
    await attention.getByRole('button', { name: 'Acknowledge oven too hot: 1 alert' }).click()
    await page.getByRole('dialog', { name: 'Acknowledge 1 alert' }).waitFor()
    await page.keyboard.press('Escape')
    await attention.getByRole('button', { name: 'Hide oven too hot: 1 alert' }).click()
    await attention.getByRole('button', { name: /1 item is hidden/ }).click()
    await attention.getByRole('link', { name: '1 message could not be processed: MALFORMED_STATUS' }).click()
    await page.waitForURL('**/system/dead-letters?reason=MALFORMED_STATUS')
    await page.goBack()
    await attention.getByRole('link', { name: 'oven too hot: 1 alert' }).click()
    await page.waitForURL('**/alerts?rule=*')
    await page.getByRole('link', { name: 'oven too hot' }).waitFor()
    // A filter that a link has set is seen, by the rule's name, and can be taken away.
    const filters = page.getByRole('list', { name: 'Filters of this list' })
    await filters.getByText('oven too hot').waitFor()
    await filters.getByRole('button', { name: 'Remove the filter Rule' }).click()
    await expect.poll(() => page.evaluate<string>('location.search')).toBe('')
    await page.getByRole('link', { name: 'oven too hot' }).waitFor()
    await go(page, '/')
    await attention.getByRole('button', { name: /^Replay: 1 message/ }).click()
    const replay = page.getByRole('dialog', { name: 'Replay' })
    await replay.getByText('MALFORMED_STATUS to replay, oldest first: 1').waitFor()
    await replay.getByRole('button', { name: 'Replay' }).click()
    await page.getByText('1 done, 0 skipped').waitFor()
  })

  test('a mark of the day leads to what happened in its hours, and not since', async () => {
    const { page } = await suite.open('/', {
      // As below: a day of counts takes a day.
      before: (of) => of.route('**/api/v1/fleet/trend*', (route) => route.fulfill({ json: trendOfADay() })),
    })
    const day = page.getByRole('region', { name: 'Online over 24 h' })
    await day.getByRole('link', { name: /^Alerts: 1, rollouts: 0, from/ }).click()
    await page.getByRole('heading', { level: 1, name: 'Timeline' }).waitFor()
    await page.getByRole('row', { name: /oven-1 oven too hot/ }).waitFor()
    const of = new URL(page.url()).searchParams
    const [from, to] = ['from', 'to'].map((name) => Date.parse(of.get(name) ?? ''))
    const [alert] = (await suite.admin.get('/alerts')).body['data'] as { readonly fired_at: string }[]
    expect(Number(to) - Number(from)).toBe(2 * 3_600_000)
    expect(Date.parse(alert?.fired_at ?? '')).toBeGreaterThanOrEqual(Number(from))
    expect(Date.parse(alert?.fired_at ?? '')).toBeLessThan(Number(to))
  })

  test('a browser whose clock is behind draws the day that was, and mutes for as long as it says', async () => {
    const { page } = await suite.open('/', {
      before: async (of) => {
        await of.route('**/api/v1/fleet/trend*', (route) => route.fulfill({ json: trendOfADay() }))
        await of.clock.install({ time: Date.now() - 2 * 3_600_000 })
      },
    })
    const day = page.getByRole('region', { name: 'Online over 24 h' })
    await day.getByRole('img', { name: '7 online now, minimum 7, maximum 30' }).waitFor()
    await day.getByRole('link', { name: /^Alerts: 1, rollouts: 0, from/ }).waitFor()
    await go(page, '/devices/oven-1/alerts')
    const from = Date.now()
    await page.getByRole('button', { name: '1 hour' }).click()
    await page.getByRole('button', { name: 'Unmute' }).waitFor()
    const { body } = await suite.admin.get('/alerts/silences')
    const [mute] = body['data'] as { readonly ends_at: string; readonly silence_id: string }[]
    // The clock of a page is renewed each second.
    expect(Date.parse(mute?.ends_at ?? '')).toBeGreaterThan(from + 3_590_000)
    expect(Date.parse(mute?.ends_at ?? '')).toBeLessThan(Date.now() + 3_600_000)
    await suite.admin.call('DELETE', `/alerts/silences/${mute?.silence_id}`)
  })

  test('an acknowledgement that cannot be undone says so', async () => {
    const { page, context } = await suite.open('/', { expected: [/503/] })
    const attention = page.getByRole('region', { name: 'Needs attention' })
    await attention.getByRole('button', { name: 'Acknowledge oven too hot: 1 alert' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Acknowledge 1 alert' }).click()
    await page.getByText('Acknowledged', { exact: true }).waitFor()
    // Nothing short of a service that is broken refuses this request, and takes the one before it.
    const refused = { status: 503, body: '{}' }
    await context.route('**/api/v1/alerts/*/unack', (route) => route.fulfill(refused))
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('alert').getByText('Could not undo').waitFor()
    await context.unroute('**/api/v1/alerts/*/unack')
    const [alert] = (await suite.admin.get('/alerts')).body['data'] as { readonly alert_id: string }[]
    await suite.admin.post(`/alerts/${alert?.alert_id}/unack`, {})
    await attention.getByRole('link', { name: 'oven too hot: 1 alert' }).waitFor()
  })

  test('the overview has no barriers, also with more devices than a page keeps, which the service counts and searches', async () => {
    const { page, context } = await suite.open('/', {
      // The fleet is counted once a minute, so that a day of counts takes a day.
      before: (of) => of.route('**/api/v1/fleet/trend*', (route) => route.fulfill({ json: trendOfADay() })),
    })
    await page.getByRole('link', { name: 'oven too hot: 1 alert' }).waitFor()
    await page.getByRole('link', { name: /^messages\/s/ }).waitFor()
    const day = page.getByRole('region', { name: 'Online over 24 h' })
    await day.getByRole('img', { name: '7 online now, minimum 7, maximum 30' }).waitFor()
    await day.getByRole('link', { name: /^Alerts: 1, rollouts: 0, from/ }).waitFor()
    expect(await barriers(page)).toEqual([])

    // A fleet of this size would take the suite minutes to register, so the answer of the service is made to say so.
    await context.route('**/api/v1/fleet/index*', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), truncated: true, total: 250_000 } })
    })
    await page.reload()
    await page.getByText('There are 250,000 devices').waitFor()
    await page.getByRole('link', { name: /online 1/ }).waitFor()
    expect(await barriers(page)).toEqual([])
    await page.getByRole('link', { name: 'Devices' }).first().click()
    await page.getByRole('table').getByRole('link', { name: 'oven-1' }).waitFor()
    await page.getByLabel('Filter devices').fill('status:offline')
    await page.getByText('No devices match the filter').waitFor()
    await page.getByLabel('Filter devices').fill('oven is:attention')
    await page.getByText('The service cannot filter by is:attention').waitFor()
    expect(await page.getByRole('table').count()).toBe(0)
    await page.getByRole('button', { name: 'Show it without is:attention' }).click()
    await page.getByRole('table').getByRole('link', { name: 'oven-1' }).waitFor()
    expect(await barriers(page)).toEqual([])
  })

  test('a page with 200 000 devices draws those in sight, finds one of them and stays small', async () => {
    // As above: registering them would take minutes.
    const { page, context } = await suite.open('/devices', {
      before: (of) => of.route('**/api/v1/fleet/index*', (route) => route.fulfill({ json: largestIndex() })),
    })
    await page.getByText('200,000 devices', { exact: true }).waitFor()
    const rows = page.locator('.grid-row')
    await rows.first().waitFor()
    const inSight = Number(
      await page.evaluate('Math.ceil(innerHeight / document.querySelector(".grid-row").offsetHeight)'),
    )
    expect(await rows.count()).toBeLessThanOrEqual(inSight + 20)
    await page.getByLabel('Filter devices').fill('robot-199999')
    await page.getByText('1 of 200,000 devices').waitFor()
    await rows.getByText('robot-199999').first().waitFor()
    await go(page, '/')
    // There are more devices than cells on the screen.
    await page.getByRole('row', { name: /eu\/site-0 10,000/ }).waitFor()
    const cdp = await context.newCDPSession(page)
    await cdp.send('HeapProfiler.collectGarbage')
    const { usedSize } = await cdp.send('Runtime.getHeapUsage')
    expect(usedSize / 2 ** 20).toBeLessThan(150)
  })

  test('on a slow line the devices come before their names, which is said', async () => {
    await registerDevice(suite.admin, 'oven-2', { name: 'Second oven' })
    const asked: string[] = []
    let sayNames = () => {}
    const maySayNames = new Promise<void>((resolve) => {
      sayNames = resolve
    })
    const { page } = await suite.open('/devices?q=oven-2', {
      before: async (context) => {
        const line = "Object.defineProperty(Navigator.prototype, 'connection', { value: { saveData: true } })"
        await context.addInitScript(line)
        await context.route('**/api/v1/fleet/index?names=only', async (route) => {
          await maySayNames
          await route.continue()
        })
        context.on('request', (request) => {
          const { pathname, search } = new URL(request.url())
          if (pathname.endsWith('/fleet/index')) asked.push(search.replace(/since=.*/, 'since'))
        })
      },
    })
    await page.getByText('live, loading names').waitFor()
    sayNames()
    await page.locator('.grid-row').getByText('Second oven').waitFor()
    await page.getByText('live, every 5 s to save data').waitFor()
    expect(asked).toEqual(['?names=without', '?since', '?names=only'])
  })

  test('a fleet that cannot be read is said to be so, on the overview and in the list', async () => {
    // Nothing short of a service that is broken answers this request with an error, and all others as it should.
    const { page } = await suite.open('/', {
      expected: [/503/],
      before: (context) =>
        context.route('**/api/v1/fleet/index*', (route) => route.fulfill({ status: 503, body: '{}' })),
    })
    await page.getByText('The devices could not be read (503)').waitFor()
    await page.getByRole('link', { name: 'Devices' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor()
    await page.getByText('The devices could not be read (503)').waitFor()
  })
})

/** An index of as many devices as a page takes. */
function largestIndex() {
  const places = Array.from({ length: 200_000 }, (_, i) => i)
  const all = <Value>(value: Value) => places.map(() => value)
  return {
    at: new Date().toISOString(),
    cursor: 'none',
    total: places.length,
    truncated: false,
    by_status: { online: places.length },
    statuses: ['online'],
    types: ['mqtt_device'],
    groups: Array.from({ length: 20 }, (_, i) => `eu/site-${i}`),
    tags: [],
    firmware: ['1.0.0'],
    columns: {
      device_id: places.map((i) => `robot-${i}`),
      name: places.map((i) => `Robot ${i}`),
      ...{
        status: all(0),
        type: all(0),
        group: places.map((i) => i % 20),
        tags: all([]),
        parent_id: all(null),
      },
      ...{ firmware: all(0), flags: all(1), rev: all(1), last_seen_ms: all(Date.now()), since_ms: all(0) },
    },
  }
}

function trendOfADay() {
  const now = Date.now()
  const data = [30, 12, 7].map((online, i) => ({
    time: new Date(now - (3 - i) * 3_600_000).toISOString(),
    total: 30,
    by_status: { online },
  }))
  return { interval: '5m', from: data[0]?.time, to: new Date(now).toISOString(), data }
}
