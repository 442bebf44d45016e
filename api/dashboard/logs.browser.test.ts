// The log of a device that is read while new lines come in.
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { until } from '../blackbox/testing/service.ts'
import { connectDevice, publish } from '../blackbox/testing/service-clients.ts'
import { registerDevice } from '../blackbox/testing/service-rest.ts'
import { CHROMIUM } from './testing/browser.ts'
import { dashboardSuite } from './testing/suite.ts'
import { go } from './testing/walk.ts'

const LINES = 250
const suite = dashboardSuite()

describe.skipIf(CHROMIUM === undefined)('the log of a device', () => {
  test('earlier lines that are loaded are not taken for new ones', async () => {
    const device = await connectDevice(suite.service, 'pump-1', await registerDevice(suite.admin, 'pump-1'))
    const say = (message: string) => publish(device, 'pump-1', { level: 'info', message }, 'log')
    for (let n = 0; n < LINES; n++) await say(`step ${n}.`)
    await until('the history has the lines', async () => {
      const { body } = await suite.admin.get('/devices/pump-1/logs?limit=200')
      return (body['data'] as readonly { readonly message: string }[])[0]?.message === `step ${LINES - 1}.`
    })
    const { page } = await suite.open('/devices/pump-1/logs')
    const tail = page.getByRole('log')
    await tail.getByText(`step ${LINES - 1}.`).waitFor()
    await tail.evaluate((element) => element.scrollTo(0, 0))
    await page.getByRole('button', { name: 'Load earlier lines' }).click()
    await tail.getByText('step 0.').waitFor()
    expect(await page.getByRole('button', { name: /new lines?$/ }).count()).toBe(0)
    expect(await tail.getByText(`step ${LINES - 1}.`).count()).toBe(1)

    await say('the last step.')
    await page.getByRole('button', { name: '1 new line' }).waitFor()
    expect(await tail.getByText('the last step.').count()).toBe(0)
    await page.getByRole('button', { name: '1 new line' }).click()
    await tail.getByText('the last step.').waitFor()

    await page.getByRole('button', { name: 'info' }).click()
    await tail.evaluate((element) => element.scrollTo(0, 0))
    await publish(
      device,
      'pump-1',
      [
        { level: 'warn', message: 'a warning.' },
        { level: 'warn', message: 'another warning.' },
        { level: 'info', message: 'a step after it.' },
      ],
      'log',
    )
    await page.getByRole('button', { name: '1 new line' }).waitFor()
    await device.endAsync()
  })

  test('new lines and entries are counted that the filters of their list let through', async () => {
    const device = await connectDevice(suite.service, 'pump-2', await registerDevice(suite.admin, 'pump-2'))
    const say = (level: string, message: string) => publish(device, 'pump-2', { level, message }, 'log')
    const { page } = await suite.open('/logs?level=error&find=seal')
    await page.getByText('No lines match these filters').waitFor()
    const { page: whole } = await suite.open('/logs')
    const newOn = (of: Page) => of.getByRole('button', { name: /new entr/ })
    const hear = (of: Page, level: string, message: string) =>
      until(`${message} is heard of`, async () => {
        await say(level, message)
        return await newOn(of).isVisible()
      })
    await hear(whole, 'info', 'the seal is checked')
    await say('error', 'the wheel slips')
    expect(await newOn(page).count()).toBe(0)
    await hear(page, 'error', 'the Seal leaks')

    await go(page, '/logs?to=-1h')
    await page.getByText('No lines match these filters').waitFor()
    await newOn(whole).click()
    await hear(whole, 'error', 'the seal is gone')
    expect(await newOn(page).count()).toBe(0)

    await go(page, '/timeline?kind=alert&device=pump-2')
    await page.getByText('Nothing matches these filters').waitFor()
    await go(whole, '/timeline?device=pump-2')
    await whole.getByRole('table').waitFor()
    await suite.admin.call('PATCH', '/devices/pump-2', { status: 'maintenance' })
    await newOn(whole).waitFor()
    expect(await newOn(page).count()).toBe(0)
    await device.endAsync()
  })
})
