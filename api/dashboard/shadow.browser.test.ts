// The shadow of a device in a real browser: edits, changes that somebody else made first, and earlier versions.
import { describe, expect, test } from 'vitest'
import { until } from '../blackbox/testing/service.ts'
import { connectDevice, publish } from '../blackbox/testing/service-clients.ts'
import { registerDevice } from '../blackbox/testing/service-rest.ts'
import { axeViolations } from './testing/axe.ts'
import { CHROMIUM } from './testing/browser.ts'
import { dashboardSuite } from './testing/suite.ts'
import { go } from './testing/walk.ts'

const suite = dashboardSuite()

/** Makes each desired state a version of its own, and waits until the history has them. */
async function registerWithVersions(deviceId: string, versions: readonly object[]): Promise<void> {
  await registerDevice(suite.admin, deviceId)
  for (const desired of versions)
    await suite.admin.call('PUT', `/shadows/${deviceId}/desired?mode=replace`, desired)
  await until('the history has every version', async () => {
    const { body } = await suite.admin.get(`/shadows/${deviceId}/history`)
    return (body['data'] as readonly unknown[] | undefined)?.length === versions.length
  })
}

const desiredOf = async (deviceId: string) => (await suite.admin.get(`/shadows/${deviceId}`)).body['desired']

describe.skipIf(CHROMIUM === undefined)('the shadow of a device', () => {
  test('a shadow that somebody else changed first is merged leaf by leaf, by choice where both changed it', async () => {
    await registerDevice(suite.admin, 'valve-1')
    const desired = { interval: 10, led: 'on', mode: 'a', net: { host: 'a', port: 1 } }
    await suite.admin.call('PUT', '/shadows/valve-1/desired', desired)
    // The browser reports a refused request in its console.
    const { page } = await suite.open('/devices/valve-1/shadow', {
      expected: [/409|412/],
    })
    await page
      .getByRole('row', { name: /interval/ })
      .getByText('by you')
      .waitFor()
    const fold = page.getByRole('button', { name: 'net: 2 leaves' })
    await fold.click()
    await page.waitForURL(/fold=net/)
    expect(await fold.getAttribute('aria-expanded')).toBe('false')
    expect(await page.getByLabel('Desired value of net.port').count()).toBe(0)
    await page.getByLabel('Desired value of interval').fill('5')
    await page.getByLabel('Desired value of mode').fill('b')
    await page.getByLabel('Desired value of mode').press('Enter')
    await page.getByRole('button', { name: 'Review 2 changes' }).click()
    const dialog = page.getByRole('dialog')
    await suite.admin.call('PUT', '/shadows/valve-1/desired', { interval: 7, led: 'off' })
    await dialog.getByRole('button', { name: 'Send for version 1' }).click()
    await dialog.getByRole('heading', { name: 'Somebody else changed the shadow first' }).waitFor()
    const apply = dialog.getByRole('button', { name: 'Apply on version 2' })
    expect(await apply.getAttribute('aria-disabled')).toBe('true')
    const { body: untouched } = await suite.admin.get('/shadows/valve-1')
    expect(untouched['desired']).toEqual({ ...desired, interval: 7, led: 'off' })
    // Only the leaf that both changed asks.
    expect(await dialog.getByRole('radio').count()).toBe(2)
    // It says whose change it was: the same person's, from elsewhere.
    await dialog
      .getByRole('row', { name: /interval/ })
      .getByText('by you, version 2')
      .waitFor()
    await dialog.getByRole('radio', { name: 'Yours' }).check()
    await apply.click()
    await dialog.waitFor({ state: 'detached' })
    const { body: merged } = await suite.admin.get('/shadows/valve-1')
    expect(merged['desired']).toEqual({ ...desired, interval: 5, led: 'off', mode: 'b' })

    await page.getByLabel('Show').selectOption('history')
    await page.getByRole('button', { name: 'Take back version 2' }).click()
    await page.getByRole('button', { name: /Review \d changes?/ }).waitFor()
  })

  test('a version that arrives while the JSON is edited is merged with it, and not undone', async () => {
    await registerDevice(suite.admin, 'valve-2')
    await suite.admin.call('PUT', '/shadows/valve-2/desired', { interval: 10, led: 'on' })
    // The browser reports a refused request in its console.
    const { page } = await suite.open('/devices/valve-2/shadow?show=json', { expected: [/409|412/] })
    const text = page.getByLabel('Desired', { exact: true })
    await text.waitFor()
    // Nothing was written yet: the text is the newest document, from when the page has subscribed on.
    let version = 1
    const change = async () => {
      await suite.admin.call('PUT', '/shadows/valve-2/desired', { led: `off ${version}` })
      version += 1
      return await text.inputValue()
    }
    await expect.poll(change, { interval: 500 }).toContain('"led": "off')
    const led = `off ${version - 1}`
    await expect.poll(() => text.inputValue()).toContain(`"led": "${led}"`)
    await text.fill(JSON.stringify({ interval: 5, led }))
    await suite.admin.call('PUT', '/shadows/valve-2/desired', { led: 'blink' })
    await page.getByText(`Version ${version + 1}`, { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Take the changes over' }).click()
    await page.getByRole('button', { name: 'Review 1 change' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: `Send for version ${version}` }).click()
    await dialog.getByRole('button', { name: `Apply on version ${version + 1}` }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await desiredOf('valve-2')).toEqual({ interval: 5, led: 'blink' })
    // What was sent is the document, which the text follows again.
    await expect.poll(() => text.inputValue()).toContain('"led": "blink"')
  })

  test('signs that turn the direction of writing are seen in long JSON of a device, too', async () => {
    const deviceId = 'valve-3'
    const device = await connectDevice(suite.service, deviceId, await registerDevice(suite.admin, deviceId))
    await publish(device, deviceId, { note: 'a\u202eb' }, 'shadow/reported')
    const sent = await suite.admin.post(`/commands/${deviceId}`, { command: 'look' })
    await publish(
      device,
      deviceId,
      {
        ...{ request_id: sent.body['command_id'], status: 'completed' },
        result: { seen: `c\u202ed${'.'.repeat(200)}` },
      },
      'command/ack',
    )
    const { page } = await suite.open(`/devices/${deviceId}/shadow?show=json`)
    await page.locator('pre', { hasText: '"note": "a⟨U+202E⟩b"' }).waitFor()
    await go(page, `/devices/${deviceId}/commands`)
    await page.locator('article.command summary').click()
    await page.locator('pre', { hasText: '"seen": "c⟨U+202E⟩d' }).waitFor()
    await device.endAsync()
  })

  test('two versions are compared, and a leaf or a whole version is brought back after a review', async () => {
    await registerWithVersions('pump-1', [
      { interval: 10, led: 'on' },
      { interval: 20, led: 'on', mode: 'eco' },
      { interval: 30, led: 'off', mode: 'eco' },
    ])
    const { page } = await suite.open('/devices/pump-1/shadow?show=history&at=1')
    const differing = page.getByRole('table', { name: 'What differs' })
    await differing.getByRole('row', { name: /desired interval 30 10/ }).waitFor()
    await differing.getByRole('row', { name: /desired led "off" "on"/ }).waitFor()
    await differing.getByRole('row', { name: /desired mode "eco" not there/ }).waitFor()

    // The slider leads to the version in between, and the address says so.
    await page.getByLabel('Compared with').focus()
    await page.keyboard.press('ArrowLeft')
    await page.waitForURL(/than=2/)
    await differing.getByRole('row', { name: /desired interval 20 10/ }).waitFor()
    await expect.poll(() => differing.getByRole('row').count()).toBe(3)
    await page.getByText('The whole document at version 1').click()
    await page.locator('pre', { hasText: '"interval": 10' }).waitFor()
    expect(await axeViolations(page)).toEqual([])
    await page.reload()
    await differing.getByRole('row', { name: /desired interval 20 10/ }).waitFor()

    await page.getByRole('button', { name: 'Bring back interval of version 1' }).click()
    await page.getByRole('button', { name: 'Review 1 change' }).click()
    // Nothing was sent before the review.
    expect(await desiredOf('pump-1')).toEqual({ interval: 30, led: 'off', mode: 'eco' })
    await page.getByRole('dialog').getByRole('button', { name: 'Send for version 3' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await desiredOf('pump-1')).toEqual({ interval: 10, led: 'off', mode: 'eco' })

    await page.getByText('Version 4', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Bring version 1 back' }).click()
    await page.getByRole('button', { name: 'Review 2 changes' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send for version 4' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await desiredOf('pump-1')).toEqual({ interval: 10, led: 'on' })
    // What is so already cannot be brought back.
    const back = page.getByRole('button', { name: 'Bring version 1 back' })
    await expect.poll(() => back.getAttribute('aria-disabled')).toBe('true')
  })
})
