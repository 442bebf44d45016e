// What names that are far too long do to the parts beside them.
import { beforeAll, describe, expect, test } from 'vitest'
import { until } from '../blackbox/testing/service.ts'
import { registerDevice } from '../blackbox/testing/service-rest.ts'
import { CHROMIUM } from './testing/browser.ts'
import { dashboardSuite } from './testing/suite.ts'
import { go } from './testing/walk.ts'

const suite = dashboardSuite()
/** A line has no place at which it may be broken. */
const LONG = 'x'.repeat(90)

describe.skipIf(CHROMIUM === undefined)('names that are far too long', () => {
  beforeAll(async () => {
    await registerDevice(suite.admin, 'robot-1', { group: `eu/${LONG.slice(0, 40)}` })
  })

  test('a single device is told of in the singular', async () => {
    const { page } = await suite.open('/devices')
    await page.getByText('1 device', { exact: true }).waitFor()
    await go(page, '/')
    await page.getByText('1 device', { exact: true }).waitFor()
  })

  test('a long group leaves the counts of all groups in sight', async () => {
    const { page } = await suite.open('/devices')
    const panel = page.getByRole('region', { name: 'Filters by count' })
    const group = panel.getByRole('button', { name: 'eu 1', exact: true })
    const count = group.locator('.facet-count')
    const [inner, outer] = [await count.boundingBox(), await panel.boundingBox()]
    if (inner === null || outer === null) throw new Error('the counts are not on the page')
    expect(inner.x + inner.width).toBeLessThanOrEqual(outer.x + outer.width)
  })

  test('a long rule leaves the words of the buttons beside it whole', async () => {
    await suite.admin.post('/alerts/rules', {
      name: LONG,
      severity: 'warning',
      target: { type: 'all' },
      condition: { kind: 'state', in: ['provisioning'] },
    })
    await until('the alert fires', async () => (await suite.admin.get('/alerts')).body['total'] === 1)
    const { page } = await suite.open('/devices/robot-1/alerts')
    const button = page.getByRole('button', { name: 'Acknowledge' })
    await button.waitFor()
    // As high as a button with one line of text.
    const mute = page.getByRole('button', { name: '1 hour' })
    expect((await button.boundingBox())?.height).toBe((await mute.boundingBox())?.height)
  })

  test('a text to copy leaves its button as wide as its words, also on a phone', async () => {
    const { page } = await suite.open('/logs', { viewport: { width: 360, height: 740 }, locale: 'de-DE' })
    const button = page.getByRole('button', { name: 'Kopieren' })
    await button.waitFor()
    const spare = await button.evaluate((element) => element.clientWidth - element.scrollWidth)
    expect(spare).toBeGreaterThanOrEqual(0)
  })
})
