// The fleet in the dashboard: the first device of an empty service, and one of thousands found, looked at and changed.
import { connectAsync } from 'mqtt'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { until } from '../blackbox/testing/service.ts'
import { connectDevice, publish } from '../blackbox/testing/service-clients.ts'
import { barriers, barriersOfThemes } from './testing/axe.ts'
import { CHROMIUM } from './testing/browser.ts'
import { dragOver } from './testing/drag.ts'
import { placeDevices } from './testing/place-devices.ts'
import { dashboardSuite } from './testing/suite.ts'
import { go } from './testing/walk.ts'

const DEVICES = 5000
const HOSTILE = '<img src=x onerror=alert(1)> <b>bold</b>'
const suite = dashboardSuite()

describe.skipIf(CHROMIUM === undefined)('the fleet in the dashboard', () => {
  test('an empty service leads to its first device, tells why a connection was refused, and shows it arrive', async () => {
    const { page } = await suite.open('/devices')
    await page.getByText('No devices yet').waitFor()
    const found = await barriersOfThemes(page)
    await go(page, '/')
    await page.getByText('No devices yet').waitFor()
    expect([...found, ...(await barriersOfThemes(page))]).toEqual([])
    await page.getByRole('link', { name: 'Connect a device' }).click()
    await page.getByLabel('Name').fill('Thermometer')
    await page.getByLabel('Device id').fill('thermo-1')
    await page.getByRole('button', { name: 'Register' }).click()
    await page.getByText('thermo-1 is registered').waitFor()
    const panel = page.locator('section', { hasText: 'The token is the MQTT password' })
    await panel.getByText('hidden', { exact: true }).waitFor()
    await panel.getByRole('button', { name: 'Show' }).click()
    const token = (await panel.locator('code').first().textContent()) ?? ''
    expect(token.length).toBeGreaterThan(100)
    expect(page.url()).not.toContain(token)

    await page.getByText('ROS 2 bridge', { exact: true }).waitFor()
    const program = (await page.locator('.copy-block code').textContent()) ?? ''
    const port = /-p (\d+)/.exec(program)?.[1]
    expect(program).toContain(token)
    expect(`mqtt://127.0.0.1:${port}`).toBe(suite.service.mqttUrl)
    const wrong = { clientId: 'esp32', username: 'thermo-1', password: token, reconnectPeriod: 0 }
    await expect(connectAsync(suite.service.mqttUrl, wrong)).rejects.toThrow()
    await page.getByText('The client id was "esp32"; it must be thermo-1').waitFor()

    const device = await connectDevice(suite.service, 'thermo-1', token)
    await page.locator('.rung-done', { hasText: 'connected' }).waitFor()
    await publish(device, 'thermo-1', { temperature: 21.5 })
    await page.locator('.rung-done', { hasText: 'stored' }).waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    // The index hears of the new device by itself.
    await page.getByRole('link', { name: /online 1/ }).waitFor()
    await device.endAsync()
  })

  test('devices of a file are checked, and registered with their tokens', async () => {
    const { page } = await suite.open('/devices/new?bulk=1')
    await page
      .getByLabel('Devices', { exact: true })
      .fill('device_id,name,type\nbulk-1,One,mqtt_device\n!,Two,mqtt_device\n')
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText('1 of 2 rows can be registered').waitFor()
    await page.getByRole('cell', { name: /device_id/ }).waitFor()
    await page.getByRole('button', { name: 'Register 1 device' }).click()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download tokens' }).click()
    expect((await download).suggestedFilename()).toBe('device-tokens.csv')
    expect((await suite.admin.get('/devices/bulk-1')).status).toBe(200)
  })

  describe('with thousands of devices', () => {
    beforeAll(registerThousands)

    test('one of thousands is found by typing, looked at with a key, and the address shows the same again', async () => {
      const { page } = await suite.open('/devices')
      await page.getByText(`${(DEVICES + 2).toLocaleString('en')} devices`, { exact: true }).waitFor()
      await rowsOf(page).first().waitFor()
      const rowPx = Number(await page.evaluate('document.querySelector(".grid-row").offsetHeight'))
      expect(await rowsOf(page).count()).toBeLessThanOrEqual(900 / rowPx + 20)
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
      const { page } = await suite.open('/devices?q=gruop:eu/site-1')
      await page.getByText('No devices match the filter').waitFor()
      await page.getByRole('button', { name: 'Use group:eu/site-1' }).click()
      await page.getByText('500 of 5,002 devices').waitFor()
      expect(new URL(page.url()).searchParams.get('q')).toBe('group:eu/site-1')
    })

    test('order and columns are the address, and a hostile one shows the list as it is', async () => {
      const { page } = await suite.open('/devices?q=group:eu')
      await page.getByRole('button', { name: 'Name' }).click()
      await page.getByRole('columnheader', { name: 'Name', exact: true }).waitFor()
      expect(new URL(page.url()).searchParams.get('sort')).toBe('name')
      await page.goto(`${suite.service.httpUrl}/devices?cols=name,__proto__,<b>&sort=%00&peek=&q=%22`)
      await page.getByRole('columnheader', { name: 'Name', exact: true }).waitFor()
      expect(await page.getByRole('columnheader').count()).toBe(2)
    })

    test('selected devices are tagged after a look at the effect, and the tag can be taken back', async () => {
      const { page } = await suite.open('/devices?q=id:robot-100')
      await page.getByText('10 of 5,002 devices').waitFor()
      await rowsOf(page).first().waitFor()
      await page.keyboard.press('*')
      await page.keyboard.press('a')
      await page.getByRole('button', { name: 'Tag', exact: true }).click()
      await page.getByLabel('Add tags').fill('night-shift')
      await page.getByRole('button', { name: 'Preview changes' }).click()
      await page.getByText(/devices will be changed/).waitFor()
      await page.getByRole('button', { name: /^Change \d+ device/ }).click()
      const tagged = async () => Number((await suite.admin.get('/devices?tag=night-shift')).body['total'])
      await until('they are tagged', async () => (await tagged()) > 1)
      await page.getByRole('button', { name: 'Undo' }).click()
      await until('the tag is gone', async () => (await tagged()) === 0)
    })

    test('the palette finds a device from any view and goes there', async () => {
      const { page } = await suite.open('/me')
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Go to a view or a device' }).fill('robot-0042')
      await page
        // The filter is offered from the first letter on; the device once the index is read.
        .getByRole('option', { name: /Robot 42/ })
        .first()
        .waitFor()
      await page.keyboard.press('Enter')
      await expect.poll(() => page.evaluate<string>('location.pathname')).toBe('/devices/robot-0042')
    })

    test('keys walk the list, select where they are, lead to a device and back', async () => {
      const { page } = await suite.open('/devices?q=id:robot-100&sort=id')
      await rowsOf(page).first().waitFor()
      for (const key of ['j', 'j', 'x', 'j', 'x']) await page.keyboard.press(key)
      await page.getByText('2 selected').waitFor()
      const names = await page.locator('.grid-row-selected code').allTextContents()
      expect(names.sort()).toEqual(['robot-1002', 'robot-1003'])
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'Robot 1003' }).waitFor()
      await page.keyboard.press('Escape')
      await rowsOf(page).first().waitFor()
      expect(new URL(page.url()).searchParams.get('q')).toBe('id:robot-100')
    })

    test('a command is typed into the palette, and its form is filled in for a look before it is sent', async () => {
      const { page } = await suite.open('/devices?q=id:robot-0042')
      await rowsOf(page).first().waitFor()
      await page.keyboard.press('Control+k')
      const field = page.getByRole('combobox', { name: 'Go to a view or a device' })
      await field.fill('robot-0042 dance times=3')
      await page.getByRole('option', { name: 'Send dance to Robot 42…' }).waitFor()
      await page.keyboard.press('Enter')
      await expect.poll(() => page.evaluate<string>('location.pathname')).toBe('/devices/robot-0042/commands')
      const form = page.getByLabel(/Parameters/).first()
      await expect.poll(() => form.inputValue()).toContain('"times": 3')
      expect((await suite.admin.get('/commands?device_id=robot-0042')).body['data']).toEqual([])
    })

    test('the palette begins with what was used last, and does with selected devices what their buttons do', async () => {
      const { page } = await suite.open('/devices?q=id:robot-0042')
      await rowsOf(page).first().waitFor()
      const field = page.getByRole('combobox', { name: 'Go to a view or a device' })
      const open = async () => {
        await page.keyboard.press('Control+k')
        await field.waitFor()
      }
      await open()
      await field.fill('timeline')
      await page.keyboard.press('Enter')
      await expect.poll(() => page.evaluate<string>('location.pathname')).toBe('/timeline')
      await open()
      // The page below has options of its own.
      const first = page.getByRole('dialog').getByRole('option').first()
      await expect.poll(() => first.textContent()).toContain('Timeline')
      await page.keyboard.press('Escape')
      await page.goBack()
      await rowsOf(page).first().waitFor()
      await page.keyboard.press('x')
      await page.getByText('1 selected').waitFor()
      await open()
      await field.fill('move')
      await page.getByRole('option', { name: /Move to group…/ }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').getByLabel('Group').waitFor()
    })

    test('the map says under its cursor which device it is, and its table the same in numbers', async () => {
      const { page } = await suite.open('/')
      await page.getByRole('application').focus()
      await page.keyboard.press('ArrowRight')
      await page.locator('.map-card').waitFor()
      await page.keyboard.press('v')
      await page.getByRole('row', { name: /eu\/site-1 500/ }).waitFor()
      expect(new URL(page.url()).searchParams.get('as')).toBe('table')
    })

    test('the list is a map and a plan, too, with the same filter, and its address says which', async () => {
      const { page } = await suite.open('/devices?q=group:eu/site-1')
      const view = page.getByLabel('View', { exact: true })
      const viewInAddress = () =>
        page.evaluate<string>("new URL(location.href).searchParams.get('view') ?? ''")
      await rowsOf(page).first().waitFor()
      await page.keyboard.press('v')
      await page.getByRole('application', { name: /500 devices/ }).waitFor()
      expect(await viewInAddress()).toBe('map')
      await page.reload()
      await page.getByRole('application', { name: /500 devices/ }).focus()
      await page.keyboard.press('v')
      await rowsOf(page).first().waitFor()
      await view.selectOption('plan')
      await page.getByText('No device has reported a position').waitFor()
      await placeDevices(suite, [
        ['robot-0001', 10, 1],
        ['robot-0011', 20, 1],
      ])
      const plan = page.getByRole('application', { name: /Plan of 2 devices/ })
      await plan.focus()
      await page.getByText('498 devices have no position').waitFor()
      for (const key of ['ArrowRight', 'ArrowLeft', 'ArrowRight', 'Space']) await page.keyboard.press(key)
      await expect.poll(() => new URL(page.url()).searchParams.get('peek')).toBe('robot-0011')
      expect(await viewInAddress()).toBe('plan')
    })

    test('devices are selected on the map with Shift, by keys and by dragging, and changed like those of the list', async () => {
      const { page } = await suite.open('/?q=group:eu/site-1')
      const map = page.getByRole('application')
      await map.focus()
      for (let i = 0; i < 4; i++) await page.keyboard.press('Shift+ArrowRight')
      const bar = page.getByRole('region', { name: 'Selected devices' })
      await bar.getByText('4 selected').waitFor()
      await until('all are selected', async () => {
        await page.keyboard.down('Shift')
        await dragOver(map, ({ width, height }) => [
          [0, 0],
          [width - 2, height - 2],
        ])
        await page.keyboard.up('Shift')
        return await bar.getByText('500 selected').isVisible()
      })
      await bar.getByRole('button', { name: 'Tag', exact: true }).click()
      await page.getByRole('dialog').waitFor()
      await page.keyboard.press('Escape')
      await page.keyboard.press('Escape')
      await bar.waitFor({ state: 'detached' })
    })

    test('a card is selected and previewed by a finger to the side, and by its buttons', async () => {
      const phone = { viewport: { width: 390, height: 800 }, hasTouch: true }
      const { page, context } = await suite.open('/devices?q=id:robot-0042', phone)
      const box = await until(
        'the card is there',
        async () => (await rowsOf(page).boundingBox()) ?? undefined,
      )
      const cdp = await context.newCDPSession(page)
      const y = box.y + box.height / 2
      const swipe = async (from: number, to: number) => {
        const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', x?: number) =>
          cdp.send('Input.dispatchTouchEvent', { type, touchPoints: x === undefined ? [] : [{ x, y }] })
        await touch('touchStart', from)
        for (const part of [0.3, 0.6, 1]) await touch('touchMove', from + (to - from) * part)
        await touch('touchEnd')
      }
      const preview = page.getByRole('complementary', { name: /Preview of/ })
      await swipe(280, 80)
      await preview.waitFor()
      await page.getByRole('button', { name: 'Close the preview' }).click()
      await page.getByRole('button', { name: 'Preview Robot 42' }).click()
      await preview.waitFor()
      await page.getByRole('button', { name: 'Close the preview' }).click()
      await swipe(80, 280)
      await page.getByText('1 selected').waitFor()
      expect(await page.getByRole('checkbox', { name: 'Select Robot 42' }).isChecked()).toBe(true)
      // The cards stay where they are, so a finger that goes on at once meets the same one.
      for (let i = 0; i < 3; i++) await swipe(80, 280)
      await page.getByText('1 selected').waitFor({ state: 'detached' })
      expect(await page.getByRole('checkbox', { name: 'Select Robot 42' }).isChecked()).toBe(false)
    })

    test('the map is enlarged by keys, wheel and buttons, dragged by hand, and its address shows the same part', async () => {
      const { page } = await suite.open('/')
      const map = page.getByRole('application')
      const zoomed = () => page.evaluate<string>("new URL(location.href).searchParams.get('zoom') ?? ''")
      await map.focus()
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('+')
      await page.keyboard.press('+')
      await expect.poll(zoomed).toMatch(/^2\.25_/)
      const box = await until('the map is drawn', async () => (await map.boundingBox()) ?? undefined)
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
      await page.mouse.move(x, y)
      await page.mouse.wheel(0, -400)
      await expect.poll(async () => Number.parseFloat(await zoomed())).toBeGreaterThan(2.5)
      const before = await zoomed()
      await page.mouse.down()
      await page.mouse.move(x - 200, y - 60, { steps: 4 })
      await page.mouse.up()
      await expect.poll(zoomed).not.toBe(before)
      const dragged = await zoomed()
      expect(dragged.split('_')[0]).toBe(before.split('_')[0])
      // A drag is no click on the device under it.
      expect(new URL(page.url()).searchParams.get('peek')).toBeNull()
      await page.reload()
      await page.getByRole('button', { name: 'Whole map' }).waitFor()
      expect(await zoomed()).toBe(dragged)
      // What is under the pointer is the device that a click shows.
      const shown = page.locator('.map-card code')
      // There is room between groups.
      let looks = 0
      const spot = await until('a device is under the pointer', async () => {
        looks++
        const at = { x: x - 150 + ((looks * 37) % 300), y: y - 100 + ((looks * 23) % 200) }
        await page.mouse.move(at.x, at.y)
        return (await shown.count()) === 1 ? at : undefined
      })
      const id = (await shown.textContent()) ?? ''
      await page.mouse.click(spot.x, spot.y)
      await expect.poll(() => new URL(page.url()).searchParams.get('peek')).toBe(id)
      await page.getByRole('button', { name: 'Whole map' }).click()
      await expect.poll(zoomed).toBe('')
    })

    test('the map is coloured by a metric, with its scale, and says the value of a device', async () => {
      const { body } = await suite.admin.post('/auth/devices/token', { device_id: 'robot-0000' })
      const device = await connectDevice(suite.service, 'robot-0000', String(body['mqtt_token']))
      await publish(device, 'robot-0000', { load: 7.5 })
      const { page } = await suite.open('/?q=id:robot-0000&colour=metric')
      await page.getByText('Choose a metric that devices report').waitFor()
      await page.getByLabel('Metric', { exact: true }).fill('load')
      await page.getByLabel('Metric', { exact: true }).press('Enter')
      await page.locator('.map-legend', { hasText: '≤ 7.5' }).waitFor()
      await publish(device, 'robot-0000', { load: 9 })
      // Live, without a reload.
      await page.locator('.map-legend', { hasText: '≤ 9' }).waitFor()
      await device.endAsync()
      await page.getByRole('application').focus()
      await page.keyboard.press('ArrowRight')
      const card = page.locator('.map-card', { hasText: 'robot-0000' })
      await card.getByText('9', { exact: true }).waitFor()
      // Once the cursor rests, what the index does not know.
      await card.getByText('load 9', { exact: true }).waitFor()
      await page.getByLabel('Colour by').selectOption('fw')
      await page.locator('.map-legend', { hasText: 'other version or none' }).waitFor()
    })

    test('the views of the fleet have no barriers', async () => {
      const { page } = await suite.open('/')
      for (const path of [
        '/',
        '/?colour=metric&metric=temperature',
        '/devices?q=group:eu&peek=robot-0001',
        '/devices?q=nokey:1',
        '/devices?q=group:eu/site-1&view=map',
        '/devices?q=group:eu/site-1&view=plan',
        '/devices/new',
        '/devices/new?bulk=1',
      ]) {
        await go(page, path)
        if (path.includes('&peek=')) await rowsOf(page).first().waitFor()
        expect(await barriers(page), path).toEqual([])
      }
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox').waitFor()
      expect(await barriers(page), 'palette').toEqual([])
    })
  })
})

const rowsOf = (page: Page) => page.locator('.grid-row')

async function registerThousands(): Promise<void> {
  const lines = Array.from({ length: DEVICES }, (_, i) => {
    const id = `robot-${String(i).padStart(4, '0')}`
    const name = i === 4711 ? HOSTILE : `Robot ${i}`
    return JSON.stringify({ device_id: id, name, type: 'ros2_robot', group: `eu/site-${i % 10}` })
  })
  const { status } = await fetch(`${suite.service.httpUrl}/api/v1/devices/bulk`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson', authorization: `Bearer ${suite.admin.token}` },
    body: lines.join('\n'),
  })
  expect(status).toBe(200)
}
