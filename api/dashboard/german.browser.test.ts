// Every view in German, as narrow as a phone and at twice the size: nothing is cut off, nothing is left in English, nothing
// stands in the way of who cannot see colours.
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { axeViolations, barriersOfThemes, settled, tooWide, unmarked } from './testing/axe.ts'
import { CHROMIUM } from './testing/browser.ts'
import { englishTexts } from './testing/english.ts'
import { type FurnishedFleet, furnish } from './testing/furnished.ts'
import { dashboardSuite } from './testing/suite.ts'
import { DEVICE_TABS, VIEWS } from './testing/views.ts'
import { go } from './testing/walk.ts'

/** Pages without the frame of the others. */
const FORMS = ['/login', '/setup']
const ADDRESSES = [
  ...VIEWS,
  // Filters that nothing fits.
  '/?q=nirgends',
  '/devices?q=nirgends',
  '/timeline?device=nirgends&group=dort',
  '/logs?find=nirgends',
  '/commands?command=nirgends&status=failed',
  '/alerts?severity=critical&group=nirgends&device=dort',
  '/system/audit?action=nirgends',
]
/** The German names of buttons that open a dialog, by their page. */
const DIALOGS: Readonly<Record<string, readonly string[]>> = {
  '/devices': ['Spalten', 'Gespeicherte Ansichten'],
  '/alerts/channels': ['Neuer Kanal'],
  '/system/users': ['Einladen'],
  '/system/api-keys': ['Neuer Schlüssel'],
  '/devices/pumpe-1/settings': ['Ausmustern…'],
}
/** Forty pages, each looked at twice: a busy machine takes minutes. */
const SLOW = { timeout: 600_000 }
const SCREEN = { width: 1280, height: 800 }
const PHONE = { width: 320, height: 800 }
/** What is left of a window of 1280 px at 200 %. */
const ZOOMED = { width: 640, height: 450 }

const FAILURE = {
  status: 500,
  contentType: 'application/problem+json',
  body: JSON.stringify({
    ...{ type: '/problems/internal', title: 'Something went wrong', status: 500 },
    ...{ code: 'INTERNAL', detail: 'It is in the log.', instance: '/', request_id: 'req_1' },
  }),
}

const suite = dashboardSuite()
let furnished: FurnishedFleet

describe.skipIf(CHROMIUM === undefined)('the dashboard in German', () => {
  beforeAll(async () => {
    furnished = await furnish(suite.service, suite.admin)
  })

  test('every view fits, speaks German and has no barriers', SLOW, async () => {
    const { page } = await suite.open('/me', {
      // A repair that never ran is answered with 404, and the page says that none was needed.
      expected: [/telemetry\/repair/],
    })
    // The language is kept with the account; the form of the login was still English.
    await suite.admin.call('PUT', '/auth/me/preferences', { language: 'de' })
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Profil und Einstellungen' }).waitFor()
    const { deviceId, paths } = furnished
    const found: string[] = []
    const views = [...ADDRESSES, ...DEVICE_TABS.map((tab) => `/devices/${deviceId}${tab}`), ...paths]
    for (const path of views) {
      await go(page, path)
      found.push(...(await findings(page)).map((finding) => `${path}: ${finding}`))
      for (const button of DIALOGS[path] ?? []) {
        const wrong = await findingsOfDialog(page, button)
        found.push(...wrong.map((finding) => `${path}, ${button}: ${finding}`))
      }
    }
    for (const path of FORMS) {
      await page.goto(`${suite.service.httpUrl}${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await settled(page)
      found.push(...(await findings(page)).map((finding) => `${path}: ${finding}`))
    }
    expect(found).toEqual([])
  })

  test(
    'every view speaks German and has no barriers while its answer is awaited, and when it is a failure',
    SLOW,
    async () => {
      let gate = newGate()
      const { page } = await suite.open('/me', {
        locale: 'de-DE',
        expected: [/500/],
        // What a broken service answers, at every place, and only when the view was looked at; the session goes on.
        before: (context) =>
          context.route(/\/api\/v1\/(?!auth\/session)/, async (route) => {
            await gate.opened
            await route.fulfill(FAILURE)
          }),
      })
      gate.open()
      const { deviceId, paths } = furnished
      const found: string[] = []
      for (const path of [...ADDRESSES, `/devices/${deviceId}`, ...paths, '/views/vw_1']) {
        gate = newGate()
        await go(page, path, drawn)
        // An outline has no text whose colour could be wrong.
        const awaited = [...(await englishTexts(page)), ...(await axeViolations(page))]
        gate.open()
        await settled(page)
        const failed = [...(await englishTexts(page)), ...(await barriersOfThemes(page))]
        found.push(...[...awaited, ...failed].map((finding) => `${path}: ${finding}`))
      }
      expect(found).toEqual([])
    },
  )

  test(
    'texts that are 40 % longer fit a phone, and none is written into a view without a translation',
    SLOW,
    async () => {
      await suite.admin.call('PUT', '/auth/me/preferences', { language: 'pseudo' })
      const { page } = await suite.open('/me', { expected: [/telemetry\/repair/] })
      await page.getByRole('heading', { level: 1, name: /^\[/ }).waitFor()
      await page.setViewportSize(PHONE)
      const found: string[] = []
      for (const path of ADDRESSES) {
        await go(page, path)
        const headings = await page.getByRole('heading', { level: 1 }).allTextContents()
        const labels = await page
          .locator('main :is(h1, h2, legend, label, th, button, summary)')
          .allTextContents()
        const bare = labels
          .map((label) => label.trim())
          .filter((label) => /^[A-Z][a-z]+( [a-z]+)+$/.test(label))
        found.push(...[...(await tooWide(page)), ...bare].map((finding) => `${path}: ${finding}`))
        expect(headings).toHaveLength(1)
      }
      expect(found).toEqual([])
    },
  )
})

/** The page is made as narrow as a phone, and then twice as large in colours that the system forces. */
async function findings(page: Page): Promise<readonly string[]> {
  await page.emulateMedia({ forcedColors: 'none' })
  await page.setViewportSize(PHONE)
  await settled(page)
  const narrow = [...(await tooWide(page)), ...(await englishTexts(page))]
  await page.emulateMedia({ forcedColors: 'active' })
  await page.setViewportSize(ZOOMED)
  return [
    ...narrow,
    ...(await tooWide(page)),
    ...(await tooWideWhenSpaced(page)),
    ...(await unmarked(page)),
    ...(await axeViolations(page)),
  ]
}

function newGate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

/** What is awaited shows its outline, and nothing else is on its way. */
async function drawn(page: Page): Promise<void> {
  await expect.poll(() => page.locator('.skeleton:not(:has(.skeleton-row))').count()).toBe(0)
}

/** Some people read texts with more room between letters, words and lines (WCAG 1.4.12). */
async function tooWideWhenSpaced(page: Page): Promise<readonly string[]> {
  const spacing =
    '* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important }'
  await page.evaluate(`{
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(${JSON.stringify(spacing)})
    document.adoptedStyleSheets = [sheet]
  }`)
  const found = await tooWide(page)
  await page.evaluate('document.adoptedStyleSheets = []; undefined')
  return found.map((text) => `with spaced text it ${text}`)
}

async function findingsOfDialog(page: Page, button: string): Promise<readonly string[]> {
  await page.emulateMedia({ forcedColors: 'none' })
  await page.setViewportSize(SCREEN)
  await page.getByRole('button', { name: button }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  const wrong = [...(await englishTexts(page)), ...(await axeViolations(page))]
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  return wrong
}
