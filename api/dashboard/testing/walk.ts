// From view to view of a page that is open already: a load takes longer than all that is looked at in most views.
import type { Page } from 'playwright-core'
import { settled } from './axe.ts'

/** Goes to another view as a link of the page would, without a load, and waits until the view shows what it was asked for,
 *  or what else is waited for. */
export async function go(page: Page, path: string, wait = settled): Promise<void> {
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
  )
  await page.getByRole('heading', { level: 1 }).waitFor()
  await wait(page)
}
