// What people keep of the dashboard: saved views, and how it looks for them.
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN, until } from '../blackbox/testing/service.ts'
import { connectDevice, publish } from '../blackbox/testing/service-clients.ts'
import { registerDevice } from '../blackbox/testing/service-rest.ts'
import { axeViolations, barriers } from './testing/axe.ts'
import { CHROMIUM } from './testing/browser.ts'
import { heldBack } from './testing/held-back.ts'
import { placeDevices } from './testing/place-devices.ts'
import { dashboardSuite } from './testing/suite.ts'

const VIEWER = { email: 'vera@example.com', password: 'a horse of course' }
/** A PNG of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABAQAAAAA3bvkkAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==',
  'base64',
)
const suite = dashboardSuite()
let oven: Awaited<ReturnType<typeof connectDevice>> | undefined

describe.skipIf(CHROMIUM === undefined)('what people keep of the dashboard', () => {
  beforeAll(async () => {
    await suite.admin.post('/auth/register', { ...VIEWER, name: 'Vera', role: 'viewer' })
    const token = await registerDevice(suite.admin, 'oven-1')
    await suite.admin.call('PATCH', '/devices/oven-1', {
      group: 'bakery',
      metadata: { site: { room: 'B 12' } },
    })
    oven = await connectDevice(suite.service, 'oven-1', token)
    await publish(oven, 'oven-1', { heat: 180 })
    await registerDevice(suite.admin, 'oven-2')
  })
  afterAll(async () => {
    await oven?.endAsync()
  })

  test('a view is saved, renamed, shared, opened by somebody else and deleted', async () => {
    const { page } = await suite.open('/devices?q=group:bakery&sort=-name', {
      expected: [/404/],
    })
    const list = await heldBack(page, '**/api/v1/views?*')
    await openViews(page)
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name of this view').fill('Bakery <b>')
    // The list comes while the button is held down, and moves it from under the pointer of nobody.
    await dialog.getByRole('button', { name: 'Save this view' }).hover()
    await page.mouse.down()
    list.release()
    await dialog.getByText('No saved views yet').waitFor()
    await page.mouse.up()
    await dialog.getByRole('link', { name: 'Bakery <b>' }).waitFor()
    await dialog.getByRole('button', { name: 'Rename Bakery' }).click()
    await dialog.getByLabel('New name').fill('All ovens')
    await dialog.getByRole('button', { name: 'Rename', exact: true }).click()
    await dialog.getByRole('button', { name: 'Share All ovens with everybody' }).click()
    await dialog.getByText('everybody sees it').waitFor()

    const { page: other } = await suite.open('/me', { login: VIEWER })
    await openViews(other)
    await other.getByRole('dialog').getByRole('link', { name: 'All ovens' }).click()
    await other.waitForURL('**/devices?q=group:bakery&sort=-name')
    await other.locator('.grid-row', { hasText: 'oven-1' }).waitFor()
    // Going on left no entry behind, so Back is the page before.
    await other.goBack()
    await other.waitForURL('**/me')
    await other.keyboard.press('Control+k')
    await other.getByRole('combobox', { name: 'Go to a view or a device' }).fill('all ov')
    await other.getByRole('option', { name: /All ovens/ }).click()
    await other.waitForURL('**/devices?q=group:bakery&sort=-name')

    const path = await dialog.getByRole('link', { name: 'All ovens' }).getAttribute('href')
    await dialog.getByRole('button', { name: 'Delete All ovens' }).click()
    await page.getByRole('button', { name: 'Delete the view' }).click()
    await dialog.getByText('No saved views yet').waitFor()
    await page.goto(`${suite.service.httpUrl}${path}`)
    await page
      .getByText(/no such view|not found/i)
      .first()
      .waitFor()
  })

  test('a saved view that leads out of the dashboard stays where it is', async () => {
    const { body } = await suite.admin.post('/views', { name: 'Elsewhere', path: '//example.com/devices' })
    const { page } = await suite.open(`/views/${String(body['view_id'])}`)
    await page.getByText('Elsewhere leads to //example.com/devices, which does not exist.').waitFor()
    await suite.admin.call('DELETE', `/views/${String(body['view_id'])}`)
  })

  test('theme, language and time zone of an account are there in another browser', async () => {
    const { page } = await suite.open('/me')
    await page.getByLabel('Time zone').selectOption('Asia/Tokyo')
    await page.getByLabel('Theme').selectOption('dark')
    await page.getByLabel('Language').selectOption('de')
    await page.getByRole('heading', { name: 'Darstellung' }).waitFor()
    const wanted = { theme: 'dark', language: 'de', timeZone: 'Asia/Tokyo' }
    await until('the service has them', async () => {
      const { body } = await suite.admin.get('/auth/me/preferences')
      return Object.entries(wanted).every(([name, value]) => body[name] === value)
    })
    const { page: other } = await suite.open('/login', { login: undefined })
    await other.getByLabel('E-mail').fill(ADMIN.email)
    await other.getByLabel('Password').fill(ADMIN.password)
    await other.getByRole('button', { name: 'Log in' }).click()
    await other.getByRole('link', { name: 'Geräte' }).first().waitFor()
    expect(await other.locator('html').getAttribute('data-theme')).toBe('dark')
    await other.goto(`${suite.service.httpUrl}/me`)
    await expect.poll(() => other.getByLabel('Zeitzone').inputValue()).toBe('Asia/Tokyo')
    await suite.admin.call('PUT', '/auth/me/preferences', {})
  })

  test('columns of metrics and metadata follow live, can be filtered and sized, and are there again elsewhere', async () => {
    const { page } = await suite.open('/devices')
    await page.getByRole('button', { name: 'Columns' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Metric').fill('heat')
    await dialog.getByRole('button', { name: 'Show the metric' }).click()
    await dialog.getByLabel('Metadata').fill('site.room')
    await dialog.getByRole('button', { name: 'Show the field' }).click()
    await dialog.getByLabel('Connection reason').check()
    await dialog.getByLabel('Pinned').selectOption('2')
    await dialog.getByRole('button', { name: 'Done' }).click()
    const row = page.locator('.grid-row', { hasText: 'oven-1' })
    await row.getByRole('gridcell', { name: '180' }).waitFor()
    await row.getByRole('gridcell', { name: 'B 12' }).waitFor()
    if (oven !== undefined) await publish(oven, 'oven-1', { heat: 220.5 })
    await row.getByRole('gridcell', { name: '220.5' }).waitFor()
    // What has changed is tinted for a moment, and the reason is that of the record.
    await row.locator('.tint-1', { hasText: '220.5' }).waitFor()
    await row.getByRole('gridcell', { name: 'connected', exact: true }).waitFor()
    await page.getByLabel('Keep sorted live').check()
    await expect.poll(() => new URL(page.url()).searchParams.get('follow')).toBe('1')
    await page.getByLabel('Filter devices').fill('heat:>200')
    await page.getByText('1 of 2 devices').waitFor()
    // A term that is in the way is told beside one of a metric, too.
    await page.getByLabel('Filter devices').fill('heat:>200 group:nowhere')
    await page.getByRole('button', { name: '1 device matches without group:nowhere' }).waitFor()
    await page.getByLabel('Filter devices').fill('')
    // The filter's own button goes a moment after its text.
    await page.getByRole('button', { name: 'heat', exact: true }).click()
    await expect.poll(() => new URL(page.url()).searchParams.get('sort')).toBe('metric:heat')
    await page.getByRole('separator', { name: 'Width of Name' }).press('ArrowRight')
    await expect.poll(() => new URL(page.url()).searchParams.get('cols')).toMatch(/name~\d+,/)
    expect(await axeViolations(page)).toEqual([])

    const { page: other } = await suite.open('/devices')
    await other.getByRole('columnheader', { name: 'heat' }).waitFor()
    await expect.poll(() => new URL(other.url()).searchParams.get('cols')).toMatch(/name~\d+,.*metric:heat/)
    await expect.poll(() => new URL(other.url()).searchParams.get('pin')).toBe('2')
    await suite.admin.call('PUT', '/auth/me/preferences', {})
  })

  test('a floor-plan picture lies under the devices for everybody, moves with them, and goes again', async () => {
    await placeDevices(suite, [
      ['oven-1', 0, 0],
      ['oven-2', 10, 5],
    ])
    const { page } = await suite.open('/devices?view=plan', { expected: [/422/] })
    const dialog = page.getByRole('dialog')
    const sheet = page.getByAltText('Floor plan')
    const choose = (name: string, buffer: Buffer) =>
      dialog.getByLabel('File').setInputFiles({ name, mimeType: 'image/png', buffer })
    await page.getByRole('application', { name: /Plan of 2 devices/ }).waitFor()
    await page.getByRole('button', { name: 'Floor-plan picture' }).click()
    // It begins with what the devices take up.
    const edges = ['Left edge', 'Lower edge', 'Right edge', 'Upper edge']
    expect(await Promise.all(edges.map((edge) => dialog.getByLabel(edge).inputValue()))).toEqual([
      ...['0', '0', '10', '5'],
    ])
    await choose('plan.png', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))
    await dialog.getByRole('button', { name: 'Save picture' }).click()
    await dialog.getByText('must be a PNG, JPEG or WebP').first().waitFor()
    await choose('plan.png', PIXEL)
    await dialog.getByLabel('Left edge').fill('-10')
    await dialog.getByLabel('Right edge').fill('30')
    await dialog.getByLabel('Lower edge').fill('-5')
    await dialog.getByLabel('Upper edge').fill('15')
    await dialog.getByRole('button', { name: 'Save picture' }).click()
    await dialog.waitFor({ state: 'detached' })
    const naturalWidth = "document.querySelector('.plan-picture').naturalWidth"
    await expect.poll(() => page.evaluate<number>(naturalWidth)).toBe(1)
    const widthOf = async () => (await sheet.boundingBox())?.width ?? 0
    const whole = await widthOf()
    expect(whole / ((await sheet.boundingBox())?.height ?? 0)).toBeCloseTo(2, 1)
    await page.getByRole('application').focus()
    await page.keyboard.press('+')
    await expect.poll(async () => (await widthOf()) / whole).toBeCloseTo(1.5, 1)
    expect(await barriers(page)).toEqual([])

    const { page: other } = await suite.open('/devices?view=plan', { login: VIEWER, colorScheme: 'dark' })
    const theirs = other.getByAltText('Floor plan')
    await theirs.waitFor()
    const filter = "getComputedStyle(document.querySelector('.plan-picture')).filter"
    expect(await other.evaluate<string>(filter)).toContain('invert')
    expect(await other.getByRole('button', { name: 'Floor-plan picture' }).count()).toBe(0)
    // It is placed by two metrics, and lies nowhere on a plan by others.
    await other.getByLabel('Upwards').fill('heat')
    await other.getByLabel('Upwards').press('Enter')
    await theirs.waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Floor-plan picture' }).click()
    expect(await dialog.getByLabel('Left edge').inputValue()).toBe('-10')
    // Without another file the same picture is moved.
    await dialog.getByLabel('Upper edge').fill('35')
    await dialog.getByRole('button', { name: 'Save picture' }).click()
    await expect
      .poll(async () => (await widthOf()) / ((await sheet.boundingBox())?.height ?? 0))
      .toBeCloseTo(1, 1)
    await page.getByRole('button', { name: 'Floor-plan picture' }).click()
    await dialog.getByRole('button', { name: 'Remove the picture' }).click()
    await page.getByText('It is removed for everybody.').waitFor()
    await dialog.getByRole('button', { name: 'Remove the picture' }).click()
    await sheet.waitFor({ state: 'detached' })
  })

  test('a dark page is dark before its program has come', async () => {
    const { page } = await suite.open('/me', { login: VIEWER, expected: [/ERR_FAILED/] })
    await page.getByLabel('Theme').selectOption('dark')
    await expect.poll(() => page.locator('html').getAttribute('data-theme')).toBe('dark')
    await page.route(/assets\/index-.*\.js/, (route) => route.abort())
    await page.reload()
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
    expect(await page.locator('#app').innerHTML()).toBe('')
  })

  test('saved views have no barriers', async () => {
    const { body } = await suite.admin.post('/views', {
      name: 'Offline',
      path: '/devices',
      query: 'q=status:offline',
    })
    const { page } = await suite.open('/me')
    await openViews(page)
    await page.getByRole('button', { name: 'Rename Offline' }).click()
    await page.getByLabel('New name').waitFor()
    expect(await barriers(page)).toEqual([])
    await suite.admin.call('DELETE', `/views/${String(body['view_id'])}`)
  })

  test('a file of selected devices has the order of the list', async () => {
    const { page } = await suite.open('/devices?q=id:oven&sort=-id')
    await page.getByRole('checkbox', { name: /oven-1/ }).check()
    await page.getByRole('checkbox', { name: /oven-2/ }).check()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV', exact: true }).click(),
    ])
    const lines = readFileSync(await file.path(), 'utf8')
      .trim()
      .split('\r\n')
    expect(lines.slice(1).map((line) => line.split(',')[0])).toEqual(['oven-2', 'oven-1'])
  })

  test('a list with as many columns as there may be says so, and its boxes tell what is shown', async () => {
    const fields = Array.from({ length: 18 }, (_, i) => `meta:f${i}.x`)
    const { page } = await suite.open(`/devices?cols=status,name,${fields.join(',')}`)
    await page.getByRole('button', { name: 'Columns' }).click()
    const dialog = page.getByRole('dialog')
    const bound = dialog.getByText('At most 20 columns at once.')
    await bound.waitFor()
    const tags = dialog.getByRole('checkbox', { name: 'Tags' })
    // It is not enabled, which a person may not see.
    await dialog.getByText('Tags', { exact: true }).click({ force: true })
    await expect.poll(() => tags.isChecked()).toBe(false)
    const add = dialog.getByRole('button', { name: 'Show the field' })
    await expect.poll(() => add.getAttribute('title')).toBe('At most 20 columns at once.')
    await dialog.getByRole('checkbox', { name: 'f0.x' }).click()
    await bound.waitFor({ state: 'detached' })
    await tags.click()
    await page.waitForURL(/tags/)
  })

  // The last one: the pages of the same person are in German after it.
  test('the theme and the language that were chosen stay', async () => {
    const { page } = await suite.open('/me')
    await page.getByLabel('Theme').selectOption('dark')
    await page.getByLabel('Language').selectOption('de')
    await page.getByRole('heading', { level: 1, name: 'Profil und Einstellungen' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Profil und Einstellungen' }).waitFor()
    await until(
      'the page is dark',
      async () => (await page.evaluate('document.documentElement.dataset.theme')) === 'dark',
    )
    expect(await page.evaluate('document.documentElement.lang')).toBe('de')
  })
})

async function openViews(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Saved views' }).click()
  await page.getByRole('heading', { name: 'Saved views' }).waitFor()
}
