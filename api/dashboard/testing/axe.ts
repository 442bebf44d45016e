// The rules of WCAG 2.2 A and AA, judged by axe in the page.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/** One line per violation: the rule, where, and why. */
export async function axeViolations(page: Page): Promise<readonly string[]> {
  // Given to the page past its own policy, which allows no script but its own.
  await page.evaluate(SOURCE)
  // The page's `axe` answers with its own report.
  const found = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(RULES)}, resultTypes: ['violations'] })`,
  )) as {
    readonly violations: readonly {
      readonly id: string
      readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
    }[]
  }
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html} ${failureSummary}`),
  )
}

/** Both themes at the width of a screen, and a phone at its narrowest. */
export const LOOKS = [
  { name: 'light', width: 1440, colorScheme: 'light' },
  { name: 'dark', width: 1440, colorScheme: 'dark' },
  { name: 'at 320 px', width: 320, colorScheme: 'light' },
] as const
