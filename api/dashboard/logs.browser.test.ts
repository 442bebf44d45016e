// The log of a device that is read while new lines come in.
import { describe, expect, test } from 'vitest'
import { until } from '../blackbox/testing/service.ts'
import { connectDevice, publish } from '../blackbox/testing/service-clients.ts'
import { registerDevice } from '../blackbox/testing/service-rest.ts'
import { CHROMIUM } from './testing/browser.ts'
import { dashboardSuite } from './testing/suite.ts'

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
    await device.endAsync()
  })
})
