// The fleet in the dashboard: the first device of an empty service, and one of thousands found, looked at and changed.
import { connectAsync } from 'mqtt'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN, type Service, ServiceHarness, until } from '../blackbox/testing/service.ts'
import { connectDevice, publish } from '../blackbox/testing/service-clients.ts'
import type { Rest } from '../blackbox/testing/service-rest.ts'
import { axeViolations, LOOKS } from './testing/axe.ts'
import { BrowserHarness, CHROMIUM } from './testing/browser.ts'

const DEVICES = 5000
const HOSTILE = '<img src=x onerror=alert(1)> <b>bold</b>'
const services = new ServiceHarness()
const browser = new BrowserHarness()
let service: Service
let admin: Rest

describe.skipIf(CHROMIUM === undefined)('the fleet in the dashboard', () => {
  beforeAll(async () => {
    service = await services.start()
    admin = await service.admin()
  })
  afterEach(() => browser.closePages())
  afterAll(async () => {
    await browser.close()
    await services.close()
  })

  test('an empty service leads to its first device, tells why a connection was refused, and shows it arrive', async () => {
    const { page } = await browser.open(service, '/', { login: ADMIN })
    await page.getByText('There is no device yet').waitFor()
    await page.getByRole('link', { name: 'Connect a device' }).click()
    await page.getByLabel('Name').fill('Thermometer')
    await page.getByLabel('Device id').fill('thermo-1')
    await page.getByRole('button', { name: 'Register' }).click()
    await page.getByText('thermo-1 is registered').waitFor()
    const shown = page.locator('section', { hasText: 'Its token' }).locator('code').first()
    const token = (await shown.textContent()) ?? ''
    expect(token.length).toBeGreaterThan(100)
    expect(page.url()).not.toContain(token)

    const program = (await page.locator('.copy-block code').textContent()) ?? ''
    const port = /-p (\d+)/.exec(program)?.[1]
    expect(program).toContain(token)
    expect(`mqtt://127.0.0.1:${port}`).toBe(service.mqttUrl)
    const wrong = { clientId: 'esp32', username: 'thermo-1', password: token, reconnectPeriod: 0 }
    await expect(connectAsync(service.mqttUrl, wrong)).rejects.toThrow()
    await page.getByText('The client id and the user name must be thermo-1').waitFor()

    const device = await connectDevice(service, 'thermo-1', token)
    await page.locator('.rung-done', { hasText: 'connected' }).waitFor()
    await publish(device, 'thermo-1', { temperature: 21.5 })
    await page.locator('.rung-done', { hasText: 'stored' }).waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    // The index hears of the new device by itself.
    await page.getByRole('link', { name: /online 1/ }).waitFor()
    await device.endAsync()
  })

  test('devices of a file are checked, and registered with their tokens', async () => {
    const { page } = await browser.open(service, '/devices/new?bulk=1', { login: ADMIN })
    await page
      .getByLabel('Devices', { exact: true })
      .fill('device_id,name,type\nbulk-1,One,mqtt_device\n!,Two,mqtt_device\n')
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText('1 of 2 rows can be registered').waitFor()
    await page.getByRole('cell', { name: /device_id/ }).waitFor()
    await page.getByRole('button', { name: 'Register 1 device' }).click()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save the tokens as a file' }).click()
    expect((await download).suggestedFilename()).toBe('device-tokens.csv')
    expect((await admin.get('/devices/bulk-1')).status).toBe(200)
  })

  describe('with thousands of devices', () => {
    beforeAll(registerThousands)

    test('one of thousands is found by typing, looked at with a key, and the address shows the same again', async () => {
      const { page } = await browser.open(service, '/devices', { login: ADMIN })
      await page.getByText(`${(DEVICES + 2).toLocaleString('en')} devices`, { exact: true }).waitFor()
      expect(await rowsOf(page).count()).toBeLessThan(60)
      await page.getByLabel('Filter devices').fill('robot-4711')
      await page.getByText('1 of 5,002 devices').waitFor()
      await rowsOf(page).first().focus()
      await page.keyboard.press('Space')
      const peek = page.getByRole('complementary', { name: /Preview of/ })
      // What people wrote as a name stays a text.
      await peek.getByRole('heading', { name: HOSTILE }).waitFor()
      expect(new URL(page.url()).searchParams.get('peek')).toBe('robot-4711')
      await page.reload()
      await peek.getByRole('heading', { name: HOSTILE }).waitFor()
      await page.getByText('1 of 5,002 devices').waitFor()
      expect(await page.getByLabel('Filter devices').inputValue()).toBe('robot-4711')
    })

    test('a term that nobody knows fits nothing, and the nearest one is a button', async () => {
      const { page } = await browser.open(service, '/devices?q=gruop:eu/site-1', { login: ADMIN })
      await page.getByText('No device fits the filter').waitFor()
      await page.getByRole('button', { name: 'Use group:eu/site-1' }).click()
      await page.getByText('500 of 5,002 devices').waitFor()
      expect(new URL(page.url()).searchParams.get('q')).toBe('group:eu/site-1')
    })

    test('order and columns are the address, and a hostile one shows the list as it is', async () => {
      const { page } = await browser.open(service, '/devices?q=group:eu', { login: ADMIN })
      await page.getByRole('button', { name: 'Name' }).click()
      await page.getByRole('columnheader', { name: 'Name', exact: true }).waitFor()
      expect(new URL(page.url()).searchParams.get('sort')).toBe('name')
      await page.goto(`${service.httpUrl}/devices?cols=name,__proto__,<b>&sort=%00&peek=&q=%22`)
      await page.getByRole('columnheader', { name: 'Name', exact: true }).waitFor()
      expect(await page.getByRole('columnheader').count()).toBe(2)
    })

    test('selected devices are tagged after a look at the effect, and the tag can be taken back', async () => {
      const { page } = await browser.open(service, '/devices?q=id:robot-100', { login: ADMIN })
      await page.getByText('10 of 5,002 devices').waitFor()
      await rowsOf(page).first().waitFor()
      await page.keyboard.press('*')
      await page.keyboard.press('a')
      await page.getByRole('button', { name: 'Tag', exact: true }).click()
      await page.getByLabel('Add tags').fill('night-shift')
      await page.getByRole('button', { name: 'Look at the effect' }).click()
      await page.getByText(/devices will be changed/).waitFor()
      await page.getByRole('button', { name: /^Change \d+ device/ }).click()
      const tagged = async () => Number((await admin.get('/devices?tag=night-shift')).body['total'])
      await until('they are tagged', async () => (await tagged()) > 1)
      await page.getByRole('button', { name: 'Undo' }).click()
      await until('the tag is gone', async () => (await tagged()) === 0)
    })

    test('the palette finds a device from any view and goes there', async () => {
      const { page } = await browser.open(service, '/me', { login: ADMIN })
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Go to a view or a device' }).fill('robot-0042')
      await page
        .getByRole('option', { name: /robot-0042/ })
        .first()
        .waitFor()
      await page.keyboard.press('Enter')
      await page.waitForURL('**/devices/robot-0042')
    })

    test('the map says under its cursor which device it is, and its table the same in numbers', async () => {
      const { page } = await browser.open(service, '/', { login: ADMIN })
      await page.getByRole('application').focus()
      await page.keyboard.press('ArrowRight')
      await page.locator('.map-card').waitFor()
      await page.keyboard.press('v')
      await page.getByRole('row', { name: /eu\/site-1 500/ }).waitFor()
      expect(new URL(page.url()).searchParams.get('as')).toBe('table')
    })

    test.each(LOOKS)(
      'the views of the fleet have no violation of WCAG ($name)',
      async ({ width, colorScheme }) => {
        const { page } = await browser.open(service, '/', {
          login: ADMIN,
          viewport: { width, height: 900 },
          colorScheme,
        })
        for (const path of [
          '/',
          '/devices?q=group:eu&peek=robot-0001',
          '/devices?q=nokey:1',
          '/devices/new',
          '/devices/new?bulk=1',
        ]) {
          await page.goto(`${service.httpUrl}${path}`)
          await page.getByRole('heading', { level: 1 }).waitFor()
          if (path.startsWith('/devices?q=group')) await rowsOf(page).first().waitFor()
          expect(await axeViolations(page), path).toEqual([])
          const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
          expect(overflow, path).toBeLessThanOrEqual(0)
        }
        await page.keyboard.press('Control+k')
        await page.getByRole('combobox').waitFor()
        expect(await axeViolations(page), 'palette').toEqual([])
      },
    )
  })
})

const rowsOf = (page: Page) => page.locator('.grid-row')

async function registerThousands(): Promise<void> {
  const lines = Array.from({ length: DEVICES }, (_, i) => {
    const id = `robot-${String(i).padStart(4, '0')}`
    const name = i === 4711 ? HOSTILE : `Robot ${i}`
    return JSON.stringify({ device_id: id, name, type: 'ros2_robot', group: `eu/site-${i % 10}` })
  })
  const { status } = await fetch(`${service.httpUrl}/api/v1/devices/bulk`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson', authorization: `Bearer ${admin.token}` },
    body: lines.join('\n'),
  })
  expect(status).toBe(200)
}
