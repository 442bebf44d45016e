// The overview: what needs a person beside the devices, and what it says when the fleet cannot be read.
import { beforeAll, describe, expect, test } from 'vitest'
import { until } from '../blackbox/testing/service.ts'
import { connectDevice, publish } from '../blackbox/testing/service-clients.ts'
import { registerDevice } from '../blackbox/testing/service-rest.ts'
import { barriers } from './testing/axe.ts'
import { CHROMIUM } from './testing/browser.ts'
import { dashboardSuite } from './testing/suite.ts'

const suite = dashboardSuite()

describe.skipIf(CHROMIUM === undefined)('the overview', () => {
  beforeAll(async () => {
    const token = await registerDevice(suite.admin, 'oven-1')
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
    await attention.getByRole('button', { name: /1 case is hidden/ }).click()
    await attention.getByRole('link', { name: '1 message could not be processed: MALFORMED_STATUS' }).click()
    await page.waitForURL('**/system/dead-letters?reason=MALFORMED_STATUS')
    await page.goBack()
    await attention.getByRole('link', { name: 'oven too hot: 1 alert' }).click()
    await page.waitForURL('**/alerts?rule=*')
    await page.getByRole('link', { name: 'oven too hot' }).waitFor()
  })

  test('the overview has no barriers, also with more devices than a page keeps, which the service counts and searches', async () => {
    const { page, context } = await suite.open('/', {
      // The fleet is counted once a minute, so that a day of counts takes a day.
      before: (of) => of.route('**/api/v1/fleet/trend*', (route) => route.fulfill({ json: trendOfADay() })),
    })
    await page.getByRole('link', { name: 'oven too hot: 1 alert' }).waitFor()
    await page.getByRole('link', { name: /^messages\/s/ }).waitFor()
    const day = page.getByRole('region', { name: 'Online over 24 h' })
    await day.getByRole('img', { name: '7 online now, least 7, most 30' }).waitFor()
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
    await page.getByText('No device fits the filter').waitFor()
    await page.getByLabel('Filter devices').fill('oven is:attention')
    await page.getByText('The service cannot judge is:attention').waitFor()
    expect(await page.getByRole('table').count()).toBe(0)
    await page.getByRole('button', { name: 'Show it without is:attention' }).click()
    await page.getByRole('table').getByRole('link', { name: 'oven-1' }).waitFor()
    expect(await barriers(page)).toEqual([])
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

function trendOfADay() {
  const now = Date.now()
  const data = [30, 12, 7].map((online, i) => ({
    time: new Date(now - (3 - i) * 3_600_000).toISOString(),
    total: 30,
    by_status: { online },
  }))
  return { interval: '5m', from: data[0]?.time, to: new Date(now).toISOString(), data }
}
