// Metrics of many devices side by side, against the real service.
import { beforeAll, describe, expect, test } from 'vitest'
import { until } from '../blackbox/testing/service.ts'
import { connectDevice, publish } from '../blackbox/testing/service-clients.ts'
import { registerDevice } from '../blackbox/testing/service-rest.ts'
import { axeViolations } from './testing/axe.ts'
import { CHROMIUM } from './testing/browser.ts'
import { dragOver } from './testing/drag.ts'
import { dashboardSuite } from './testing/suite.ts'
import { go } from './testing/walk.ts'

const suite = dashboardSuite()

describe.skipIf(CHROMIUM === undefined)('telemetry of many devices', () => {
  beforeAll(async () => {
    const token = await registerDevice(suite.admin, 'probe-1')
    const device = await connectDevice(suite.service, 'probe-1', token)
    const end = Date.now() - 60_000
    const reports = Array.from({ length: 60 }, (_, i) => ({
      timestamp: new Date(end - i * 30_000).toISOString(),
      heat: 20 + i,
    }))
    await publish(device, 'probe-1', reports)
    await device.endAsync()
    await until('the points are stored', async () => {
      const { body } = await suite.admin.get('/telemetry/probe-1/history?metric=heat&interval=10s')
      return (body['data'] as readonly unknown[] | undefined)?.length === 60
    })
  })

  test('metrics are offered although the newest device has not reported anything yet', async () => {
    await registerDevice(suite.admin, 'silent-1')
    const { page } = await suite.open('/telemetry')
    await page.getByRole('button', { name: 'heat', exact: true }).click()
    await page.getByRole('application', { name: 'heat' }).waitFor()
    await go(page, '/devices')
    await page.getByRole('row', { name: /silent-1/ }).waitFor()
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.locator('datalist option[value="heat"]').waitFor({ state: 'attached' })
  })

  test('a prefix takes all metrics below it, and no more lines than are drawn at once', async () => {
    const token = await registerDevice(suite.admin, 'probe-2')
    const device = await connectDevice(suite.service, 'probe-2', token)
    const cells = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`c${i}`, i]))
    await publish(device, 'probe-2', { pack: { volt: 3, amp: 4 }, cell: cells })
    await device.endAsync()
    const { page } = await suite.open('/telemetry?devices=probe-2')
    const add = page.getByLabel('Add a metric')
    await add.fill('pack.*')
    await add.press('Enter')
    await page.getByRole('application', { name: 'pack.volt' }).waitFor()
    await page.getByRole('application', { name: 'pack.amp' }).waitFor()
    expect(await page.getByText('At most 8').count()).toBe(0)
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(/metric=cell/, async (route) => {
      await released
      await route.continue()
    })
    await add.fill('cell.*')
    await add.press('Enter')
    await page.getByText('At most 8 lines at once.').waitFor()
    // The charts that are there stay until the others have their values.
    expect(await page.getByRole('application', { name: /^pack/ }).count()).toBe(2)
    release()
    await expect.poll(() => page.getByRole('application', { name: /^(pack|cell)/ }).count()).toBe(8)
  })

  test('what charts are compared with is chosen in the field, also after Back', async () => {
    await registerDevice(suite.admin, 'probe-9')
    const { page } = await suite.open('/devices/probe-1/telemetry?metric=heat&compare=probe-9')
    const compare = page.getByLabel('Compare with')
    await page.getByRole('application', { name: 'heat' }).waitFor()
    await page.getByRole('button', { name: 'Zoom in' }).click()
    await compare.selectOption('nothing')
    await page.goBack()
    await page.waitForURL(/compare=probe-9/)
    await expect.poll(() => compare.inputValue()).toBe('devices')
    expect(await page.getByLabel('Other devices').inputValue()).toBe('probe-9')
  })

  test('dragging over the chart zooms into the address', async () => {
    const { page } = await suite.open('/telemetry?metric=heat&devices=probe-1')
    await page.getByRole('application', { name: 'heat' }).waitFor()
    const area = page.locator('.u-over').first()
    const inAddress = (name: string) => new URL(page.url()).searchParams.get(name) ?? ''
    await until('a drag has chosen a range', async () => {
      await dragOver(area, ({ width }) => [
        [width * 0.6, 50],
        [width * 0.8, 50],
      ])
      return inAddress('to') !== ''
    })
    // A fifth of the last hour, or less if it was chosen twice.
    const shownMs = Date.parse(inAddress('to')) - Date.parse(inAddress('from'))
    expect(shownMs).toBeGreaterThan(0)
    expect(shownMs).toBeLessThan(15 * 60_000)
  })

  test('the longer time around the charts is dragged over, and what happened meanwhile is said and led to', async () => {
    const { page } = await suite.open('/telemetry?metric=heat&devices=probe-1')
    const strip = page.getByRole('application', { name: 'Time around it' })
    await strip.waitFor()
    const spanMs = async () => {
      const chart = page.locator('.chart').first()
      const at = async (name: string) => Date.parse((await chart.getAttribute(name)) ?? '')
      return (await at('data-to')) - (await at('data-from'))
    }
    expect(await spanMs()).toBe(3_600_000)
    await until('a drag over the strip has chosen a longer time', async () => {
      await dragOver(strip.locator('.u-over'), ({ width }) => [
        [width * 0.2, 20],
        [width * 0.7, 20],
      ])
      return (await spanMs()) > 3_600_000
    })
    await page.goto(`${suite.service.httpUrl}/telemetry?metric=heat&devices=probe-1`)
    await page.getByText(/events in this range/).click()
    await page
      .getByRole('button', { name: /^Zoom to .*provisioning/ })
      .first()
      .click()
    await page.waitForURL(/from=2.*to=2/)
    expect(await spanMs()).toBe(360_000)
    expect(await axeViolations(page)).toEqual([])
  })

  test('while the database stands still, charts say that they cannot be read, and live values go on', async () => {
    const { page } = await suite.open('/devices/probe-1', { expected: [/503/] })
    const { body } = await suite.admin.post('/auth/devices/token', { device_id: 'probe-1' })
    const device = await connectDevice(suite.service, 'probe-1', String(body['mqtt_token']))
    await page.getByRole('heading', { level: 1, name: 'probe-1' }).waitFor()
    const database = suite.service.databasePid()
    process.kill(database, 'SIGSTOP')
    try {
      await go(page, '/devices/probe-1/telemetry?metric=heat')
      await page.locator('.problem').first().waitFor()
      await go(page, '/devices/probe-1')
      await publish(device, 'probe-1', { heat: 4321 })
      await page.getByText('4,321').first().waitFor()
    } finally {
      process.kill(database, 'SIGCONT')
    }
    await go(page, '/devices/probe-1/telemetry?metric=heat')
    await until('the chart is back', async () => {
      const again = page.getByRole('button', { name: 'Try again' }).first()
      if (await again.isVisible()) await again.click()
      return await page.getByRole('application', { name: 'heat' }).isVisible()
    })
    await device.endAsync()
  })

  test('an interval that is too fine is replaced by the one that the service names, and that is said', async () => {
    const { page } = await suite.open('/telemetry?metric=heat&devices=probe-1&interval=10s&from=-30d', {
      expected: [/422/],
    })
    await page.getByText('Buckets of 10s would be too many').waitFor()
    await page.getByRole('application', { name: 'heat' }).waitFor()
    await page.getByLabel('Compare with').selectOption('previous')
    await page.locator('.chart-legend').getByText('probe-1, before').waitFor()
    expect(new URL(page.url()).searchParams.get('compare')).toBe('previous')
  })
})
