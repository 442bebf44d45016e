// The overview: what needs a person beside the devices, and what it says when the fleet cannot be read.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN, type Service, ServiceHarness, until } from '../blackbox/testing/service.ts'
import { connectDevice, publish } from '../blackbox/testing/service-clients.ts'
import { type Rest, registerDevice } from '../blackbox/testing/service-rest.ts'
import { axeViolations, LOOKS } from './testing/axe.ts'
import { BrowserHarness, CHROMIUM } from './testing/browser.ts'

const services = new ServiceHarness()
const browser = new BrowserHarness()
let service: Service
let admin: Rest

describe.skipIf(CHROMIUM === undefined)('the overview', () => {
  beforeAll(async () => {
    service = await services.start()
    admin = await service.admin()
    const token = await registerDevice(admin, 'oven-1')
    const made = await admin.post('/alerts/rules', {
      name: 'oven too hot',
      severity: 'critical',
      target: { type: 'device', value: 'oven-1' },
      condition: { kind: 'threshold', metric: 'heat', op: '>', value: 200 },
    })
    expect(made.status).toBe(201)
    const device = await connectDevice(service, 'oven-1', token)
    await publish(device, 'oven-1', { heat: 250 })
    await device.publishAsync('fleet/oven-1/status', '{"status":', { qos: 1 })
    await until('the rule fires', async () => (await admin.get('/alerts')).body['total'] === 1)
    await until('the message is set aside', async () => {
      return (await admin.get('/dead-letters')).body['total'] === 1
    })
    await device.endAsync()
  })
  afterEach(() => browser.closePages())
  afterAll(async () => {
    await browser.close()
    await services.close()
  })

  test('alerts by their rule and dead letters by their reason need attention, and a hidden case comes back', async () => {
    const { page } = await browser.open(service, '/', { login: ADMIN })
    const attention = page.getByRole('region', { name: 'Needs attention' })
    await attention.getByRole('link', { name: 'oven too hot: 1 alert' }).waitFor()
    await attention.getByRole('button', { name: 'Hide oven too hot: 1 alert' }).click()
    await attention.getByRole('button', { name: /1 case is hidden/ }).click()
    await attention.getByRole('link', { name: '1 message could not be processed: MALFORMED_STATUS' }).click()
    await page.waitForURL('**/system/dead-letters?reason=MALFORMED_STATUS')
    await page.goBack()
    await attention.getByRole('link', { name: 'oven too hot: 1 alert' }).click()
    await page.waitForURL('**/alerts?rule=*')
    await page.getByRole('link', { name: 'oven too hot' }).waitFor()
  })

  test('a fleet that cannot be read is said to be so, on the overview and in the list', async () => {
    const { page, context } = await browser.open(service, '/me', { login: ADMIN, expected: [/503/] })
    await context.route('**/api/v1/fleet/index*', (route) => route.fulfill({ status: 503, body: '{}' }))
    await page.goto(`${service.httpUrl}/`)
    await page.getByText('The devices could not be read (503)').waitFor()
    await page.getByRole('link', { name: 'Devices' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor()
    await page.getByText('The devices could not be read (503)').waitFor()
  })

  test.each(LOOKS)('the overview has no barriers, $name', async ({ width, colorScheme }) => {
    const { page } = await browser.open(service, '/', {
      login: ADMIN,
      colorScheme,
      viewport: { width, height: 900 },
    })
    await page.getByRole('link', { name: 'oven too hot: 1 alert' }).waitFor()
    expect(await axeViolations(page)).toEqual([])
  })
})
