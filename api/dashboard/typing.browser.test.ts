// What is typed into the forms of the dashboard, key by key.
import { describe, expect, test } from 'vitest'
import { registerDevice } from '../blackbox/testing/service-rest.ts'
import { CHROMIUM } from './testing/browser.ts'
import { heldBack } from './testing/held-back.ts'
import { dashboardSuite } from './testing/suite.ts'
import { uploadFirmware } from './testing/upload-firmware.ts'

const suite = dashboardSuite()
const typeWith = (name: string, commands: readonly object[]) => ({
  ...{ name, display_name: name, icon: null, built_in: false, heartbeat_timeout_sec: null },
  ...{ telemetry: [], status_fields: [], commands },
})
const DEGREES = { name: 'degrees', type: 'integer', required: true }
const TYPES = {
  data: [
    typeWith('kettle', [{ name: 'brew', description: null, parameters: null }]),
    typeWith('oven', [{ name: 'heat', description: null, parameters: [DEGREES] }]),
  ],
}

describe.skipIf(CHROMIUM === undefined)('typing in the dashboard', () => {
  test('numbers of a rule may have zeros after the point, and a sign', async () => {
    const { page } = await suite.open('/alerts/rules')
    await page.getByRole('button', { name: 'New rule' }).click()
    await page.getByLabel('Name').fill('slow drift')
    await page.getByLabel('Metric').fill('drift')
    const type = async (label: string, text: string) => {
      const field = page.getByLabel(label, { exact: true })
      await field.press('ControlOrMeta+a')
      await field.pressSequentially(text)
      expect(Number(await field.inputValue()), label).toBe(Number(text))
    }
    await type('Value', '0.05')
    await type('Clears at', '-1.005')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'slow drift' }).waitFor()
    const { body } = await suite.admin.get('/alerts/rules')
    const [rule] = body['data'] as { readonly condition: object }[]
    expect(rule?.condition).toEqual({
      kind: 'threshold',
      metric: 'drift',
      op: '>',
      value: 0.05,
      clear_value: -1.005,
    })

    await page.getByLabel('When').selectOption('a value changes fast')
    await page.getByLabel('Metric').fill('drift')
    await type('Per second', '-0.25')
    await type('Over (seconds)', '90')
  })

  test('a rule that is written as JSON becomes a form only if it has what a form shows', async () => {
    const { page } = await suite.open('/alerts/rules')
    await page.getByRole('button', { name: 'New rule' }).click()
    await page.getByLabel('Name').fill('half a rule')
    await page.getByRole('button', { name: 'Edit as JSON' }).click()
    const json = page.getByLabel('The rule as JSON')
    for (const text of [
      '{"name":"half a rule"}',
      'null',
      '{"target":{"type":"all"},"condition":{"all":[null]}}',
    ]) {
      await json.fill(text)
      await page.getByRole('button', { name: 'Edit as a form' }).click()
      expect(await json.inputValue()).toBe(text)
    }
    await page.getByText('A form needs the target and the condition of the rule').waitFor()
    await json.fill(
      '{"name":"half a rule","target":{"type":"all"},"condition":{"kind":"absence","for_sec":60}}',
    )
    await page.getByRole('button', { name: 'Edit as a form' }).click()
    expect(await page.getByLabel('For (seconds)').inputValue()).toBe('60')
  })

  test('the check of devices that were changed meanwhile says nothing about those that are there now', async () => {
    const { page } = await suite.open('/devices/new?bulk=1')
    const devices = page.getByRole('textbox', { name: 'Devices' })
    await devices.fill('device_id,name,type\nearly-1,Early,mqtt_device\n')
    const { release } = await heldBack(page, '**/api/v1/devices/bulk*')
    const answer = page.waitForResponse('**/api/v1/devices/bulk*')
    await page.getByRole('button', { name: 'Check', exact: true }).click()
    await devices.fill('device_id,name,type\nlate-1,Late,mqtt_device\nlate-2,Late,mqtt_device\n')
    release()
    await answer
    await expect.poll(() => page.getByRole('button', { name: 'Check', exact: true }).isEnabled()).toBe(true)
    expect(await page.getByRole('button', { name: /^Register / }).count()).toBe(0)
    await page.getByRole('button', { name: 'Check', exact: true }).click()
    await page.getByRole('button', { name: 'Register 2 devices' }).click()
    await page.getByRole('button', { name: 'Download tokens' }).waitFor()
    // The tokens are shown once, and a key that is pressed by mistake does not take them away.
    await devices.press('Space')
    await page.getByRole('button', { name: 'Check', exact: true }).click()
    await page.getByText(/^0 of \d rows can be registered/).waitFor()
    await page.getByRole('button', { name: 'Download tokens' }).waitFor()
  })

  test('an upload that a proxy refuses says so', async () => {
    const { page } = await suite.open('/rollouts/firmware', { expected: [/413/] })
    await page.route('**/api/v1/ota/firmware', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({
            status: 413,
            contentType: 'text/html',
            body: '<h1>413 Request Entity Too Large</h1>',
          })
        : route.continue(),
    )
    await uploadFirmware(page)
    await page.getByText(/status 413/).waitFor()
    expect(await page.getByRole('button', { name: 'Upload' }).isEnabled()).toBe(true)
  })

  test('what is typed while a device is being saved stays', async () => {
    await registerDevice(suite.admin, 'desk-1')
    const { page } = await suite.open('/devices/desk-1/settings')
    const description = page.getByLabel('Description')
    await description.fill('at the door')
    const { release } = await heldBack(page, '**/api/v1/devices/desk-1')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await description.press('End')
    await description.pressSequentially(' of hall 2')
    release()
    await page.getByText('Saved.').waitFor()
    expect(await description.inputValue()).toBe('at the door of hall 2')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const saved = async () => (await suite.admin.get('/devices/desk-1')).body['description']
    await expect.poll(saved).toBe('at the door of hall 2')
  })

  test('a command that is changed while its recipients are looked up is not sent as it was before', async () => {
    await registerDevice(suite.admin, 'cart-1')
    const { page } = await suite.open('/commands/new?target=devices&which=cart-1')
    await page.getByLabel('Commands of type').selectOption('mqtt_device')
    await page.getByLabel('Command name').fill('drive')
    const { release } = await heldBack(page, '**/api/v1/commands/$broadcast*')
    const answer = page.waitForResponse('**/api/v1/commands/$broadcast*')
    await page.getByRole('button', { name: 'Preview recipients of drive' }).click()
    await page.getByLabel('Parameters (JSON object)').fill('{"speed":0.5}')
    release()
    await answer
    const look = page.getByRole('button', { name: 'Preview recipients of drive' })
    await expect.poll(() => look.isEnabled()).toBe(true)
    expect(await page.getByRole('button', { name: /^Send drive/ }).count()).toBe(0)
    await look.click()
    await page.getByRole('button', { name: 'Send drive to 1 device' }).click()
    await page.getByRole('heading', { level: 1, name: 'drive' }).waitFor()
    const { body } = await suite.admin.get('/commands/cart-1')
    expect((body['data'] as readonly object[])[0]).toMatchObject({ data: { speed: 0.5 } })
  })

  test('the form of a broadcast to a type has the commands of the type that is typed', async () => {
    const { page } = await suite.open('/commands/new?target=type&command=brew', {
      before: (context) => context.route('**/api/v1/device-types', (route) => route.fulfill({ json: TYPES })),
    })
    const command = page.getByLabel('Command', { exact: true })
    const look = page.getByRole('button', { name: /^Preview recipients/ })
    await page.getByLabel('Which').fill('kettle')
    await expect.poll(() => command.inputValue()).toBe('brew')
    await page.getByLabel('Which').fill('oven')
    await expect.poll(() => command.inputValue()).toBe('heat')
    expect(await look.textContent()).toBe('Preview recipients of heat')
    await look.click()
    await page.getByText('This field is required.').waitFor()
    await page.getByLabel('degrees (required)').fill('200')
  })

  test('a change of devices that is edited while it is looked at is looked at again', async () => {
    await registerDevice(suite.admin, 'crane-1')
    const { page } = await suite.open('/devices?q=crane')
    await page.getByRole('checkbox', { name: /crane-1/ }).check()
    await page.getByRole('button', { name: 'Tag', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Add tags').fill('night')
    const { release } = await heldBack(page, '**/api/v1/devices/bulk-edit*')
    const answer = page.waitForResponse('**/api/v1/devices/bulk-edit*')
    await dialog.getByRole('button', { name: 'Preview changes' }).click()
    await dialog.getByLabel('Add tags').fill('day')
    release()
    await answer
    const look = dialog.getByRole('button', { name: 'Preview changes' })
    await expect.poll(() => look.isEnabled()).toBe(true)
    expect(await dialog.getByRole('button', { name: /^Change / }).count()).toBe(0)
    await look.click()
    await dialog.getByRole('button', { name: 'Change 1 device' }).waitFor()
  })

  test('a form that is changed after its answer was lost is another request', async () => {
    const { page, context } = await suite.open('/system/provisioning-keys', { expected: [/ERR_FAILED/] })
    let isLost = true
    await context.route(/\/api\/v1\/(auth\/provisioning-keys|views)$/, async (route) => {
      if (route.request().method() !== 'POST' || !isLost) return await route.continue()
      // The service has done it; the page is not told.
      await route.fetch()
      await route.abort()
    })
    await page.getByRole('button', { name: 'New key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name, such as a batch').fill('line 4')
    await dialog.getByRole('button', { name: 'New key' }).click()
    await dialog.locator('.problem').waitFor()
    await dialog.getByLabel('Number of devices').fill('20')
    isLost = false
    await dialog.getByRole('button', { name: 'New key' }).click()
    await dialog.getByText('This key is shown only once').waitFor()
    await dialog.getByRole('button', { name: 'Done' }).click()

    isLost = true
    await page.getByRole('button', { name: 'Saved views' }).click()
    await dialog.getByLabel('Name of this view').fill('Keys')
    await dialog.getByRole('button', { name: 'Save this view' }).click()
    await dialog.locator('.problem').waitFor()
    await dialog.getByRole('checkbox').check()
    isLost = false
    await dialog.getByRole('button', { name: 'Save this view' }).click()
    await dialog.getByText('everybody sees it').waitFor()
  })

  test('a command without a name is not sent, and the button says why', async () => {
    await registerDevice(suite.admin, 'crane-9')
    const { page } = await suite.open('/devices/crane-9/commands')
    const send = page.getByRole('button', { name: 'Send', exact: true })
    await expect.poll(() => send.getAttribute('title')).toBe('Enter the name of the command first.')
    await page.getByLabel('Command name').fill('ring')
    await page.getByRole('button', { name: 'Send ring' }).click()
    await page.locator('article.command', { hasText: 'ring' }).waitFor()
  })
})
