import type { Page } from 'playwright-core'

/** Keeps the requests to this address back until they are released. */
export async function heldBack(page: Page, address: string): Promise<{ readonly release: () => void }> {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route(address, async (route) => {
    await released
    await route.continue()
  })
  return { release }
}
