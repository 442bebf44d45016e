// The rules of WCAG 2.2 A and AA, judged by axe in the page.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/** One line per violation: the rule, where, and why. `rules` are all of WCAG if they are left out. */
export async function axeViolations(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  const only = rules === undefined ? { type: 'tag', values: WCAG } : { type: 'rule', values: rules }
  // Given to the page past its own policy, which allows no script but its own.
  if (!(await page.evaluate<boolean>("typeof axe === 'object'"))) await page.evaluate(SOURCE)
  // The page's `axe` answers with its own report. What is being renewed is dimmed until the answer is there, and when that
  // is depends on the machine: it is judged as it is before and after.
  const found = (await page.evaluate(`(async () => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync('.updating { opacity: 1 !important; transition: none !important }')
    document.adoptedStyleSheets.push(sheet)
    try {
      return await axe.run(document, { runOnly: ${JSON.stringify(only)}, resultTypes: ['violations'] })
    } finally {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet)
    }
  })()`)) as {
    readonly violations: readonly {
      readonly id: string
      readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
    }[]
  }
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html} ${failureSummary}`),
  )
}

const SCREEN = { width: 1440, height: 900 }
const PHONE = { width: 320, height: 900 }

/** What stands in somebody's way on the page as it is: in both themes, which differ in their colours only. */
export async function barriersOfThemes(page: Page): Promise<readonly string[]> {
  const light = await axeViolations(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await axeViolations(page, ['color-contrast'])
  await page.emulateMedia({ colorScheme: 'light' })
  return told({ light, dark })
}

/** The same, and as narrow as a phone, where nothing may lie beside the window. */
export async function barriers(page: Page): Promise<readonly string[]> {
  const themes = await barriersOfThemes(page)
  await page.setViewportSize(PHONE)
  await settled(page)
  const narrow = [...(await axeViolations(page)), ...(await tooWide(page))]
  await page.setViewportSize(SCREEN)
  await settled(page)
  return [...themes, ...told({ narrow })]
}

const told = (all: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(all).flatMap(([look, found]) => found.map((violation) => `${look}: ${violation}`))

/** A page may wait for several answers at once. */
export async function settled(page: Page): Promise<void> {
  await expect.poll(() => page.locator('.skeleton').count()).toBe(0)
}

/** What can be told by its colours only, while the system forces them: fills that are all alike, and a tab that is current
 *  and looks like the others. */
export async function unmarked(page: Page): Promise<readonly string[]> {
  const found = await page.evaluate<readonly string[]>(`(() => {
    const colours = (selector, name) => [...document.querySelectorAll(selector)].map((at) => getComputedStyle(at)[name])
    const areAlike = (list) => list.length > 1 && new Set(list).size === 1
    const tabs = [...document.querySelectorAll('.tabs')].filter((strip) => strip.querySelector('[aria-current]') !== null)
    return [
      ...(areAlike(colours('.map-probes > *', 'backgroundColor')) ? ['the fills of the map are alike'] : []),
      ...(areAlike(colours('.stacked-bar', 'backgroundColor').concat(colours('.stacked-bar > *', 'backgroundColor')))
        ? ['a bar of shares shows none'] : []),
      ...tabs.filter((strip) => areAlike([...strip.children].map((tab) => getComputedStyle(tab).borderBlockEndColor)))
        .map((strip) => 'no tab of ' + strip.ariaLabel + ' is seen to be current'),
    ]
  })()`)
  return found
}

/** How far the page lies beside its window (WCAG 1.4.10). On a phone the content is what scrolls, so the document stays as
 *  wide as the window whatever lies in it. */
export async function tooWide(page: Page): Promise<readonly string[]> {
  const over = Number(
    await page.evaluate(`Math.max(
    document.documentElement.scrollWidth - innerWidth,
    ...[...document.querySelectorAll('.content')].map((content) => content.scrollWidth - content.clientWidth),
  )`),
  )
  if (over <= 0) return []
  const culprit = await page.evaluate<string>(`(() => {
    const beside = [...document.querySelectorAll('.content *')].filter((at) => at.getBoundingClientRect().right > innerWidth)
    return beside.at(-1)?.outerHTML.slice(0, 200) ?? ''
  })()`)
  return [`is ${over} px too wide for ${page.viewportSize()?.width} px: ${culprit}`]
}
