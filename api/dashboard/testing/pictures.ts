// Takes the pictures of the README from a real service with simulated devices:
//   node dist/api/dashboard/testing/pictures.js [FOLDER]
// A folder gets all views, in the themes and widths in which somebody should look at them before a release.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import { restOf } from '../../blackbox/testing/service-rest.ts'

const MAIN = fileURLToPath(new URL('../../service/main.js', import.meta.url))
/** The folder among the sources, as seen from `dist`. */
const KEPT = fileURLToPath(new URL('../../../../api/dashboard/pictures/', import.meta.url))
const ADMIN = { email: 'ada@example.com', password: 'correct horse battery' }
const DEVICES = 250
/** Long enough for charts to have a line. */
const LIVED_MS = 180_000
const BYTES_MAX = 60_000
const WAIT_MS = 120_000

interface Shot {
  readonly name: string
  readonly path: string
  readonly isDark?: boolean
  readonly isNarrow?: boolean
  /** One of the six that the README shows. */
  readonly isKept?: boolean
  /** What has to be seen before the picture is taken. */
  readonly ready: string
}

const shots = (device: string): readonly Shot[] => [
  { name: 'overview', path: '/', isKept: true, ready: 'canvas' },
  { name: 'overview-dark', path: '/', isDark: true, ready: 'canvas' },
  { name: 'devices-dark', path: '/devices', isDark: true, isKept: true, ready: '[role=row]' },
  { name: 'device', path: `/devices/${device}`, ready: '.card' },
  {
    name: 'telemetry',
    path: `/devices/${device}/telemetry?from=-5m&metric=temperature,cpu.load`,
    isKept: true,
    ready: '.chart canvas',
  },
  { name: 'shadow-dark', path: `/devices/${device}/shadow`, isDark: true, isKept: true, ready: '.table' },
  { name: 'alerts', path: '/alerts', isKept: true, ready: '.table' },
  { name: 'rule-dark', path: '/alerts/rules/new?from=battery', isDark: true, ready: '.card' },
  { name: 'compose', path: '/commands/new', ready: '.card' },
  { name: 'rollouts', path: '/rollouts/firmware', ready: '.card' },
  { name: 'system', path: '/system', ready: '.card' },
  { name: 'device-narrow', path: `/devices/${device}`, isNarrow: true, isKept: true, ready: '.card' },
  { name: 'devices-narrow', path: '/devices', isNarrow: true, ready: '[role=row]' },
]

async function main(): Promise<void> {
  const [folder] = process.argv.slice(2)
  const data = mkdtempSync(join(tmpdir(), 'fleet-pictures-'))
  const { child, httpUrl } = await startService(data)
  const executablePath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  try {
    const device = await furnish(httpUrl)
    for (const shot of shots(device)) await take(browser, httpUrl, { ...shot, folder })
  } finally {
    await browser.close()
    child.kill('SIGTERM')
    await new Promise((resolve) => child.once('close', resolve))
    rmSync(data, { recursive: true, force: true, maxRetries: 20 })
  }
}

async function startService(data: string) {
  const env = {
    ...process.env,
    FLEET_HTTP_PORT: '0',
    FLEET_MQTT_PORT: '0',
    FLEET_DATA_DIR: data,
    FLEET_LOG_LEVEL: 'warn',
    FLEET_ADMIN_EMAIL: ADMIN.email,
    FLEET_ADMIN_PASSWORD: ADMIN.password,
  }
  const child = spawn(process.execPath, [MAIN, '--simulate', String(DEVICES)], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.includes('"msg":"ready"')) continue
    // The ready line is part of the contract.
    const { http_url } = JSON.parse(line) as { readonly http_url: string }
    child.stdout.resume()
    return { child, httpUrl: http_url }
  }
  throw new Error('the service ended before it was ready')
}

/** Gives the fleet what a fleet has after a day of use, and lets it live for some minutes. Resolves with a device of it. */
async function furnish(httpUrl: string): Promise<string> {
  const nobody = restOf(httpUrl)
  const login = await nobody.post('/auth/login', ADMIN)
  const admin = nobody.as(String(login.body['access_token']))
  const battery = { kind: 'threshold', metric: 'battery.percent', op: '<', value: 60 }
  const rule = { name: 'battery low', severity: 'warning', target: { type: 'all' }, condition: battery }
  await admin.post('/alerts/rules', rule)
  await admin.post('/alerts/rules', {
    name: 'offline for 5 min',
    severity: 'critical',
    target: { type: 'all' },
    condition: { kind: 'state', in: ['offline'] },
    for_sec: 300,
  })
  const from = performance.now()
  for (;;) {
    const { body } = await admin.get('/devices?per_page=20&status=online&type=ros2_robot')
    const [, device] = body['data'] as readonly { readonly device_id: string }[]
    const isAll = Number(body['total']) >= DEVICES / 5
    if (isAll && performance.now() - from > LIVED_MS && device !== undefined) {
      await admin.call('PUT', `/shadows/${device.device_id}/desired`, {
        speed_limit: 1.2,
        led: { colour: 'blue' },
      })
      return device.device_id
    }
    if (performance.now() - from > LIVED_MS + WAIT_MS)
      throw new Error('the simulated devices do not come online')
    await new Promise((resolve) => setTimeout(resolve, 1000))
  }
}

async function take(browser: Browser, httpUrl: string, shot: Shot & { readonly folder: string | undefined }) {
  const { name, path, isDark = false, isNarrow = false, isKept = false, ready, folder } = shot
  const context = await browser.newContext({
    viewport: isNarrow ? { width: 390, height: 800 } : { width: 1280, height: 800 },
    colorScheme: isDark ? 'dark' : 'light',
    locale: 'en-GB',
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(WAIT_MS)
  const page = await context.newPage()
  await page.goto(`${httpUrl}/login`)
  await page.getByLabel('E-mail').fill(ADMIN.email)
  await page.getByLabel('Password').fill(ADMIN.password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  await page.goto(`${httpUrl}${path}`)
  await page.locator(ready).first().waitFor()
  // Values come in by the second; a picture of their first moment would be half empty.
  await page.waitForTimeout(8000)
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) })
  if (isKept) await writeFile(join(KEPT, `${name}.webp`), await compressed(page))
  await context.close()
}

/** The finest WebP that a README may have. */
async function compressed(page: Page): Promise<Buffer> {
  const cdp = await page.context().newCDPSession(page)
  for (const quality of [85, 75, 65, 55, 45, 35]) {
    const { data } = await cdp.send('Page.captureScreenshot', { format: 'webp', quality })
    const picture = Buffer.from(data, 'base64')
    if (picture.length <= BYTES_MAX) return picture
  }
  throw new Error(`a picture takes more than ${BYTES_MAX} bytes`)
}

await main()
