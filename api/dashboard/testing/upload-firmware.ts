import type { Page } from 'playwright-core'

/** Fills in the form of an image and sends it. */
export async function uploadFirmware(page: Page): Promise<void> {
  await page.getByLabel('File', { exact: true }).setInputFiles({
    name: 'oven.bin',
    mimeType: 'application/octet-stream',
    buffer: Buffer.from('firmware'),
  })
  await page.getByLabel('Version', { exact: true }).fill('2.1.0')
  await page.getByLabel('Device type').selectOption('mqtt_device')
  await page.getByRole('button', { name: 'Upload' }).click()
}
