// The page of a device in a real browser, against the real service and devices that speak MQTT.
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { until } from '../blackbox/testing/service.ts'
import { connectDevice, publish } from '../blackbox/testing/service-clients.ts'
import { registerDevice } from '../blackbox/testing/service-rest.ts'
import { axeViolations, barriers } from './testing/axe.ts'
import { CHROMIUM } from './testing/browser.ts'
import { dragOver } from './testing/drag.ts'
import { dashboardSuite } from './testing/suite.ts'

const VIEWER = { email: 'vera@example.com', password: 'correct horse battery' }
const TABS = [
  'Telemetry',
  'Shadow',
  'Commands',
  'Firmware',
  'Alerts',
  'Logs',
  'Timeline',
  'Settings',
  'Overview',
]
/** Markup, a text that turns its direction, and a very long word. */
const HOSTILE = `<img src=x onerror=alert(1)> \u202egnp.exe ${'W'.repeat(120)}`

/** A value that somebody sends by mistake may be this long. */
const LONG = HOSTILE.padEnd(10_000, 'W')

/** Nine tabs, looked at closely: a busy machine takes minutes. */
const SLOW = { timeout: 600_000 }

const suite = dashboardSuite()

/** Half an hour of points, ten seconds apart. */
async function registerWithHistory(deviceId: string): Promise<string> {
  const token = await registerDevice(suite.admin, deviceId)
  const device = await connectDevice(suite.service, deviceId, token)
  const end = Math.floor(Date.now() / 10_000) * 10_000 - 60_000
  const reports = Array.from({ length: 180 }, (_, index) => ({
    timestamp: new Date(end - index * 10_000).toISOString(),
    temperature: 20 + Math.sin(index / 9) * 5,
    battery: { percent: 80 - index / 10 },
  }))
  await publish(device, deviceId, reports)
  await device.endAsync()
  await until('the history has the points', async () => {
    const path = `/telemetry/${deviceId}/history?metric=temperature&interval=10s`
    const { body } = await suite.admin.get(path)
    return (body['data'] as readonly unknown[] | undefined)?.length === 180
  })
  return token
}

async function fillWithHostileText(deviceId: string): Promise<void> {
  const { body } = await suite.admin.post('/auth/devices/token', { device_id: deviceId })
  const device = await connectDevice(suite.service, deviceId, String(body['mqtt_token']))
  await publish(device, deviceId, { temperature: 21.5, mode: LONG, ['w'.repeat(100)]: 4 })
  await publish(device, deviceId, { level: 'error', message: LONG, logger: HOSTILE }, 'log')
  await publish(device, deviceId, { label: LONG }, 'shadow/reported')
  await device.endAsync()
  await suite.admin.post(`/commands/${deviceId}`, { command: HOSTILE.slice(0, 20), data: { text: LONG } })
}

describe.skipIf(CHROMIUM === undefined)('the page of a device', () => {
  beforeAll(async () => {
    await suite.admin.post('/auth/register', { ...VIEWER, name: 'Vera', role: 'viewer' })
    await registerWithHistory('probe-1')
  })

  test('a zoom of a chart is in the address, by dragging and by keys, and a reload draws the same', async () => {
    const { page } = await suite.open('/devices/probe-1/telemetry?metric=temperature&marks=off')
    await page.getByRole('application', { name: 'temperature' }).waitFor()
    const area = page.locator('.u-over').first()
    const answeredMs: number[] = []
    page.on('response', (response) => {
      const asked = new URL(response.url()).searchParams
      answeredMs.push(Date.parse(asked.get('to') ?? '') - Date.parse(asked.get('from') ?? ''))
    })
    const dragged = await until('a drag has chosen a range', async () => {
      await dragOver(area, ({ width }) => [
        [width * 0.6, 50],
        [width * 0.9, 60],
      ])
      const address = await page.evaluate<string>('location.href')
      return /from=2.*to=2/.test(address) ? address : undefined
    })
    // Of the hour that was shown, three tenths.
    await until('its points have come', () => answeredMs.some((ms) => ms < 1_500_000))
    await page.mouse.move(0, 0)
    const before = await settledPicture(page)
    await page.reload()
    expect(page.url()).toBe(dragged)
    await until('the same is drawn after a reload', async () => (await picture(page)) === before)

    await page.getByRole('application', { name: 'temperature' }).focus()
    for (const key of ['Home', 'Shift+ArrowRight', 'Shift+ArrowRight', 'Shift+ArrowRight'])
      await page.keyboard.press(key)
    await page.getByText('4 points chosen').waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.href !== dragged)
    await expect.poll(() => chartSpanMs(page)).toBe(30_000)
    // Back zooms out again.
    await page.goBack()
    await expect.poll(() => page.evaluate<string>('location.href')).toBe(dragged)
    await page.getByLabel('Table').check()
    await page.getByRole('table', { name: 'temperature' }).waitFor()
    // The points of the shorter time stay until those of the longer one have come.
    const rows = page.getByRole('table', { name: 'temperature' }).getByRole('row')
    await expect.poll(() => rows.count()).toBeGreaterThan(10)
  })

  test('a downloaded file has the rows of the table, and its address is good once', async () => {
    const { page } = await suite.open('/devices/probe-1/telemetry?metric=temperature&table=1')
    const table = page.getByRole('table', { name: 'temperature' })
    await table.waitFor()
    await page.getByText('Download').click()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV, as shown' }).click(),
    ])
    expect(file.suggestedFilename()).toMatch(/^probe-1.*\.csv$/)
    const text = await readFile((await file.path()) ?? '', 'utf8')
    const rows = text.trim().split(/\r?\n/).slice(1)
    expect(rows.length).toBeGreaterThan(10)
    await expect.poll(() => table.getByRole('row').count()).toBe(rows.length + 1)
    expect((await fetch(file.url())).status).toBe(401)
  })

  test('a command shows each step as the device reports it', async () => {
    const token = await registerDevice(suite.admin, 'lamp-1')
    const device = await connectDevice(suite.service, 'lamp-1', token)
    await device.subscribeAsync('fleet/lamp-1/command', { qos: 1 })
    const requests: { request_id: string; data: unknown }[] = []
    device.on('message', (_, payload) => requests.push(JSON.parse(payload.toString())))
    const { page } = await suite.open('/devices/lamp-1/commands')
    await page.getByLabel('Command name').fill('blink')
    await page.getByLabel('Parameters (JSON object)').fill('{"times":3}')
    await page.getByRole('button', { name: 'Send blink' }).click()
    const request = await until('the device has the command', () => requests[0])
    expect(request.data).toEqual({ times: 3 })
    const card = page.locator('article.command')
    await card.locator('.step-delivered.step-reached').waitFor()
    expect(await card.locator('.step-completed.step-reached').count()).toBe(0)
    const { request_id } = request
    await publish(device, 'lamp-1', { request_id, status: 'in_progress', progress: 40 }, 'command/ack')
    await card.locator('.step-acked.step-reached').waitFor()
    await card.locator('progress[value="40"]').waitFor()
    await publish(
      device,
      'lamp-1',
      { request_id, status: 'completed', result: { blinked: 3 } },
      'command/ack',
    )
    await card.locator('.step-completed.step-reached').waitFor()
    await card.getByText('{"blinked":3}').waitFor()
    expect(requests).toHaveLength(1)
    await card.getByRole('button', { name: 'Send again' }).click()
    await until('the form has the command again', async () => {
      return (await page.getByLabel('Parameters (JSON object)').inputValue()).includes('"times": 3')
    })
    await page.getByRole('button', { name: 'Send blink' }).click()
    expect((await until('it came again', () => requests[1])).data).toEqual({ times: 3 })
    await device.endAsync()
  })

  test('log lines come in live, are found, stay text, and reach a page that is far too slow', async () => {
    const token = await registerDevice(suite.admin, 'drive-1')
    const device = await connectDevice(suite.service, 'drive-1', token)
    const { page, context } = await suite.open('/devices/drive-1/logs')
    await page.getByText('has not logged anything').waitFor()
    // The subscription is there once the page is live.
    await page.getByText('live', { exact: false }).first().waitFor()
    const say = (level: string, message: string) =>
      publish(device, 'drive-1', { level, message, fields: { wheel: 2 } }, 'log')
    await until('a line is on the page', async () => {
      await say('warn', `the wheel slips ${HOSTILE}`)
      return (await page.locator('.log-row').count()) > 0
    })
    await say('info', 'all is well')
    await page.getByText('all is well').waitFor()
    expect(await page.locator('.log-tail img').count()).toBe(0)
    expect(await page.locator('.log-tail').textContent()).toContain('⟨U+202E⟩')
    await page.getByLabel('Find').fill('WELL')
    await page.locator('mark', { hasText: 'well' }).waitFor()
    expect(await page.locator('.log-row').count()).toBe(1)
    await page.getByLabel('Find').fill('')
    await page.getByRole('button', { name: 'warn' }).click()
    await page.waitForURL(/level=warn/)
    expect(await page.getByText('all is well').count()).toBe(0)
    await page.getByLabel('Jump to time').fill('2020-01-01T12:00:00')
    await page.getByRole('button', { name: 'Jump', exact: true }).click()
    await page.waitForURL(/until=2020/)
    await page.getByText('No lines match.').waitFor()
    await page.getByRole('button', { name: 'Back to now' }).click()
    await until('lines come in again', async () => {
      await say('warn', 'the wheel slips again')
      return (await page.locator('.log-row').count()) > 0
    })
    const cdp = await context.newCDPSession(page)
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: 6 })
    for (let n = 0; n < 150; n++) await say('warn', `step ${n}`)
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: 1 })
    await page.getByText('step 149').waitFor()
    // Nothing was lost on the way, and what was chosen stays.
    expect(await page.locator('.log-row', { hasText: /step \d/ }).count()).toBe(150)
    expect(new URL(page.url()).searchParams.get('level')).toBe('warn')
    await device.endAsync()
  })

  test('settings are saved for the version that was read, and a faster change is not lost', async () => {
    await registerDevice(suite.admin, 'desk-1')
    const { page } = await suite.open('/devices/desk-1/settings', {
      expected: [/412/],
    })
    await page.getByLabel('Name', { exact: true }).fill(HOSTILE)
    await page.getByLabel('Tags').fill('one, two')
    await suite.admin.call('PATCH', '/devices/desk-1', { group: 'office', name: 'Desk of somebody else' })
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const conflict = page.getByRole('dialog', { name: 'Somebody else changed this device' })
    const save = conflict.getByRole('button', { name: 'Save over the newer version' })
    expect(await save.getAttribute('aria-disabled')).toBe('true')
    await conflict.getByRole('radio', { name: 'Yours' }).check()
    await save.click()
    const saved = await until('the change is saved', async () => {
      const { body } = await suite.admin.get('/devices/desk-1')
      return body['name'] === HOSTILE ? body : undefined
    })
    expect(saved).toMatchObject({ name: HOSTILE, tags: ['one', 'two'], group: 'office' })
    await page.getByRole('heading', { level: 1, name: '<img src=x onerror=alert(1)>' }).waitFor()
    await page.getByRole('button', { name: 'Decommission…' }).click()
    const dialog = page.getByRole('dialog')
    const end = dialog.getByRole('button', { name: 'Decommission desk-1' })
    expect(await end.getAttribute('aria-disabled')).toBe('true')
    await dialog.getByLabel('Type desk-1 to confirm').fill('desk-1')
    await end.click()
    await page.getByText('This device is decommissioned').first().waitFor()
  })

  test('a viewer sees the device and is told what the role lacks', async () => {
    const { page } = await suite.open('/devices/probe-1/commands', { login: VIEWER })
    await page.getByText('Sending commands needs the role operator').waitFor()
    expect(await page.getByRole('link', { name: 'Commands' }).count()).toBe(0)
    const button = page.getByRole('button', { name: 'Start maintenance' })
    expect(await button.getAttribute('aria-disabled')).toBe('true')
    expect(await button.getAttribute('title')).toContain('admin')
    await tabLink(page, 'Settings').click()
    await page.getByText('Only an admin can change this.').first().waitFor()
  })

  test('keys lead to the neighbours, the commands, and into maintenance and back', async () => {
    const token = await registerDevice(suite.admin, 'key-1')
    await registerDevice(suite.admin, 'key-2')
    const device = await connectDevice(suite.service, 'key-1', token)
    await publish(device, 'key-1', { temperature: 20 })
    const { page } = await suite.open('/devices/key-1/timeline')
    const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
    await heading('key-1')
    // The page itself knows where it is at once; what its driver knows may lag, and one key more would lead on.
    const path = () => page.evaluate<string>('location.pathname')
    await until('the next device is there', async () => {
      await page.keyboard.press(']')
      return (await path()) === '/devices/key-2/timeline'
    })
    await heading('key-2')
    await until('the device before it is there', async () => {
      await page.keyboard.press('[')
      return (await path()) === '/devices/key-1/timeline'
    })
    await heading('key-1')
    await page.keyboard.press('m')
    await page.getByRole('button', { name: 'End maintenance' }).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('button', { name: 'Start maintenance' }).waitFor()
    await page.keyboard.press('c')
    await page.waitForURL(/key-1\/commands$/)
    await device.endAsync()
  })

  test('an unknown device says so and leads on', async () => {
    const { page } = await suite.open('/devices/prboe-1', { expected: [/404/] })
    await page.getByText('There is no device prboe-1').waitFor()
    await page.getByRole('link', { name: 'All devices' }).waitFor()
    await page.getByRole('link', { name: 'probe-1', exact: true }).click()
    await page.waitForURL(/devices\/probe-1$/)
  })

  test('every tab has no barriers and fits, whatever the device has written', SLOW, async () => {
    const deviceId = 'shown-1'
    await registerDevice(suite.admin, deviceId, { name: HOSTILE, tags: [HOSTILE.slice(0, 60)] })
    await suite.admin.call('PUT', `/shadows/${deviceId}/desired`, { led: { colour: LONG }, on: true })
    await fillWithHostileText(deviceId)
    const { page } = await suite.open(`/devices/${deviceId}`)
    const violations: string[] = []
    for (const tab of TABS) {
      await tabLink(page, tab).click()
      await until(`the tab ${tab} is loaded`, async () => {
        const isCurrent = (await tabLink(page, tab).getAttribute('aria-current')) === 'page'
        return isCurrent && (await page.locator('.skeleton, .updating').count()) === 0
      })
      for (const violation of await barriers(page)) violations.push(`${tab} ${violation}`)
    }
    expect(await page.locator('main img').count()).toBe(0)
    expect(violations).toEqual([])
  })

  test('metrics of several devices are drawn together, and the address says which', async () => {
    await registerWithHistory('probe-2')
    const { page } = await suite.open('/telemetry')
    await page.getByRole('combobox', { name: 'Add a metric' }).fill('temperature')
    await page.getByRole('combobox', { name: 'Add a metric' }).press('Enter')
    await page.getByRole('application', { name: 'temperature' }).waitFor()
    await page.getByLabel('Devices (ids, comma-separated)').fill('probe-1, probe-2')
    // The page is drawn anew meanwhile, which takes nothing from who types.
    await page.setViewportSize({ width: 1_000, height: 800 })
    await expect
      .poll(() =>
        page
          .locator('.chart-place')
          .first()
          .evaluate(({ clientWidth }) => clientWidth),
      )
      .toBeLessThan(1_000)
    await page.getByLabel('Devices (ids, comma-separated)').press('Enter')
    await page.waitForURL(/devices=probe-1,probe-2/)
    await page.reload()
    const legend = page.locator('.chart-legend').first()
    await legend.getByText('probe-1').waitFor()
    await legend.getByText('probe-2').waitFor()
    expect(await axeViolations(page)).toEqual([])
    await page.getByLabel('Devices (ids, comma-separated)').fill('')
    await page.getByLabel('Devices (ids, comma-separated)').press('Enter')
    await page.getByLabel('One line per').selectOption('group')
    await legend.getByText('the whole fleet').waitFor()
  })

  test('charts leave nothing behind after fifty changes of the view', SLOW, async () => {
    const { page, context } = await suite.open('/devices/probe-1/telemetry?metric=temperature')
    const cdp = await context.newCDPSession(page)
    const toSettings = async () => {
      await page.locator('.chart-place canvas').first().waitFor()
      await tabLink(page, 'Settings').click()
      await page.getByRole('checkbox', { name: 'Metadata as JSON' }).waitFor()
    }
    const counters = async () => {
      await cdp.send('HeapProfiler.collectGarbage')
      return await cdp.send('Memory.getDOMCounters')
    }
    await toSettings()
    const before = await counters()
    for (let round = 0; round < 24; round += 1) {
      await tabLink(page, 'Telemetry').click()
      await toSettings()
    }
    const detached = async () => {
      await cdp.send('HeapProfiler.collectGarbage')
      const { result } = await cdp.send('Runtime.evaluate', { expression: 'HTMLCanvasElement.prototype' })
      const { objects } = await cdp.send('Runtime.queryObjects', { prototypeObjectId: result.objectId ?? '' })
      const { result: count } = await cdp.send('Runtime.callFunctionOn', {
        objectId: objects.objectId ?? '',
        functionDeclaration: 'function () { return this.filter((canvas) => !canvas.isConnected).length }',
        returnByValue: true,
      })
      return Number(count.value)
    }
    await until('at most five canvases are left', async () => (await detached()) <= 5)
    // What each visit left behind, listeners among it, would be there fifty times.
    const { nodes, jsEventListeners } = await counters()
    expect([nodes < before.nodes + 2_000, jsEventListeners < before.jsEventListeners + 100]).toEqual([
      true,
      true,
    ])
  })
})

const tabLink = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Device sections' }).getByRole('link', { name })

const picture = async (page: Page) =>
  String(await page.evaluate("document.querySelector('.chart-place canvas')?.toDataURL()"))

/** The picture once two looks at it are the same. */
async function settledPicture(page: Page): Promise<string> {
  let before = ''
  return await until('the picture stays', async () => {
    const now = await picture(page)
    const isSame =
      now.startsWith('data:') && now === before && (await page.locator('[aria-busy="true"]').count()) === 0
    before = now
    return isSame ? now : undefined
  })
}

async function chartSpanMs(page: Page): Promise<number> {
  const chart = page.locator('.chart').first()
  const read = async (name: string) => Date.parse((await chart.getAttribute(name)) ?? '')
  return (await read('data-to')) - (await read('data-from'))
}
