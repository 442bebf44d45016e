// Firmware in the dashboard: images, rollouts and what becomes of them on devices.
import { beforeAll, describe, expect, test } from 'vitest'
import { until } from '../blackbox/testing/service.ts'
import { connectDevice, publish } from '../blackbox/testing/service-clients.ts'
import { registerDevice } from '../blackbox/testing/service-rest.ts'
import { updatingDevice } from '../blackbox/testing/updating-device.ts'
import { barriers } from './testing/axe.ts'
import { CHROMIUM } from './testing/browser.ts'
import { dashboardSuite } from './testing/suite.ts'
import { uploadFirmware } from './testing/upload-firmware.ts'
import { go } from './testing/walk.ts'

const suite = dashboardSuite()

describe.skipIf(CHROMIUM === undefined)('firmware in the dashboard', () => {
  beforeAll(async () => {
    await registerDevice(suite.admin, 'oven-1')
  })

  test('an uploaded image is shown with the checksum that the service computed', async () => {
    const { page } = await suite.open('/rollouts/firmware')
    await uploadFirmware(page)
    // The first digits of the SHA-256 of "firmware".
    await page.getByText('c3bf47ea1f4a').waitFor()
  })

  test('a rollout is looked at, started, paused and cancelled', async () => {
    const { page } = await suite.open('/rollouts/firmware')
    await page.getByRole('link', { name: 'Deploy' }).click()
    await page.getByLabel('Devices', { exact: true }).selectOption('devices')
    await page.getByLabel('Ids, separated by commas').fill('oven-1')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByRole('heading', { name: 'Reaches 1 device' }).waitFor()
    await page.getByRole('button', { name: 'Update 1 device' }).click()
    await page.getByRole('heading', { level: 1, name: '2.1.0' }).waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    await page.getByRole('button', { name: 'Cancel the rollout' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the rollout' }).click()
    await page.getByRole('row', { name: /oven-1 cancelled/ }).waitFor()
  })

  test('a device that failed went back by itself, and one that works is taken back by hand', async () => {
    const form = new FormData()
    form.set('version', '1.0')
    form.set('device_type', 'mqtt_device')
    form.set('file', new Blob(['the image before']), 'mixer.bin')
    await fetch(`${suite.service.httpUrl}/api/v1/ota/firmware`, {
      method: 'POST',
      headers: { authorization: `Bearer ${suite.admin.token}` },
      body: form,
    })
    const mixer = async (id: string, isGood: boolean) =>
      updatingDevice(suite.service, { id, isGood, token: await registerDevice(suite.admin, id) })
    const [good, bad] = [await mixer('mixer-1', true), await mixer('mixer-2', false)]
    const made = await suite.admin.post('/ota/deployments', {
      ...{ firmware_version: '2.1.0', name: 'mixers', stable_sec: 0, retry: { max: 0 } },
      ...{ strategy: 'all', abort: { min_finished: 1000 } },
      target: { type: 'devices', value: ['mixer-1', 'mixer-2'] },
    })
    const id = String(made.body['deployment_id'])
    await until('the rollout ends', async () => {
      return (await suite.admin.get(`/ota/deployments/${id}`)).body['finished_at'] !== null
    })

    const { page } = await suite.open(`/rollouts/${id}`)
    await page.getByRole('row', { name: /mixer-1 succeeded 1\.0 → 2\.1\.0/ }).waitFor()
    const failed = page.getByRole('row', {
      name: /mixer-2 rolled back.*(ROLLED_BACK_BY_DEVICE|VERSION_MISMATCH)/,
    })
    await failed.waitFor()
    expect(await failed.getByRole('button', { name: 'Roll back…' }).count()).toBe(0)
    expect(await barriers(page)).toEqual([])
    await failed.getByRole('link', { name: 'mixer-2' }).click()
    await page.getByRole('link', { name: 'Firmware' }).click()
    await page.getByRole('heading', { name: 'Running 1.0' }).waitFor()
    await page.getByText(/ROLLED_BACK_BY_DEVICE|VERSION_MISMATCH/).waitFor()

    await go(page, '/devices/mixer-1/firmware')
    await page.getByRole('heading', { name: 'Running 2.1.0' }).waitFor()
    await page.getByRole('button', { name: 'Roll back…' }).click()
    await page.getByRole('dialog').getByText('told to install 1.0 again').waitFor()
    await page.getByRole('button', { name: 'Roll back to 1.0' }).click()
    // The page hears of each step by itself.
    await page.getByRole('heading', { name: 'Running 1.0' }).waitFor()
    expect(good.told.map(({ action }) => action)).toEqual(['install', 'rollback'])
    await page.getByRole('link', { name: '2.1.0 → 1.0' }).click()
    await page.getByRole('row', { name: /mixer-1 .* 2\.1\.0 → 1\.0/ }).waitFor()
    await Promise.all([good.end(), bad.end()])
  })

  test('a rollout that runs is paused from the overview, and goes on where that was a mistake', async () => {
    const token = await registerDevice(suite.admin, 'mixer-3')
    const silent = await connectDevice(suite.service, 'mixer-3', token)
    await silent.subscribeAsync('fleet/mixer-3/ota', { qos: 1 })
    await publish(silent, 'mixer-3', { status: 'online', firmware_version: '1.0' }, 'status')
    const made = await suite.admin.post('/ota/deployments', {
      ...{ firmware_version: '2.1.0', name: 'slowly', strategy: 'all' },
      target: { type: 'devices', value: ['mixer-3'] },
    })
    const path = `/ota/deployments/${String(made.body['deployment_id'])}`
    const { page } = await suite.open('/')
    await page.getByRole('button', { name: 'Pause: Rollout slowly is at 0%' }).click()
    await page.getByText('no further device starts').waitFor()
    await page.getByRole('link', { name: 'Rollout slowly is paused' }).waitFor()
    expect((await suite.admin.get(path)).body['status']).toBe('paused')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('link', { name: 'Rollout slowly is at 0%' }).waitFor()
    expect((await suite.admin.get(path)).body['status']).toBe('in_progress')
    await suite.admin.post(`${path}/cancel`, {})
    await silent.endAsync()
    // There was such a page once; what is left of the list is shown in its place.
    await go(page, '/rollouts?page=9')
    await page.getByRole('link', { name: 'slowly' }).waitFor()
    await expect.poll(() => page.evaluate<string>('location.search')).not.toContain('9')
  })

  test('a rollout is planned for nights to come, with its own times, and leaves a list of devices filled in', async () => {
    const { page } = await suite.open('/devices?q=oven-1')
    await page
      .getByRole('checkbox', { name: /^Select / })
      .first()
      .check()
    await page.getByRole('button', { name: 'Roll out firmware' }).click()
    await expect.poll(() => page.getByLabel('Ids, separated by commas').inputValue()).toBe('oven-1')
    await page.getByLabel('Name (optional)').fill('nightly')
    await page.getByLabel('Not before (empty: immediately)').fill('2030-03-01T12:00')
    await page.getByRole('button', { name: 'Add a window' }).click()
    await page.getByRole('button', { name: 'Sat' }).click()
    await page.getByText('Time limit per phase').click()
    await page.getByLabel('Installation (minutes)').fill('20')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('1 device gets it first.').waitFor()
    await page.getByText('Devices start only within 1 time window.').waitFor()
    expect(await barriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Schedule the update of 1 device' }).click()
    await page.getByRole('heading', { level: 1, name: 'nightly' }).waitFor()
    const path = `/ota/deployments/${(await page.evaluate<string>('location.pathname')).split('/').at(-1)}`
    expect((await suite.admin.get(path)).body).toMatchObject({
      ...{ name: 'nightly', status: 'scheduled', start_at: '2030-03-01T12:00:00.000Z' },
      windows: [{ days: ['sat'], start: '22:00', duration_min: 360, tz: 'UTC' }],
      timeouts: { install_sec: 1200 },
      target: { type: 'devices', value: ['oven-1'] },
    })
    await suite.admin.post(`${path}/cancel`, {})
  })
})
