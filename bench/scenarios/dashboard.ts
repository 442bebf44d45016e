// Measures the dashboard in Chromium with 50 000 registered devices, of which 1 000 report.
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { chromium } from 'playwright-core'
import { Histogram, type Percentiles } from '../../engine/edge/histogram.ts'
import type { DeviceLogin } from '../load/device-socket.ts'
import type { Generator } from '../load/generator.ts'
import { Rest } from '../load/rest.ts'
import { deviceIds, withGenerator } from '../load/session.ts'
import { cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { sleep } from '../measure/deadline.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { type Service, startService } from '../targets/service.ts'
import { addCrowd, addFlood } from './dashboard-load.ts'

const ROWS_PER_REQUEST = 5_000
const REPORTING = 1_000
const WAIT_MS = 120_000
const SCROLL_MS = 10_000
const INDEX_READS = 10
/** Without the second option, the browser measures its memory only when it happens to collect garbage. */
const BROWSER = ['--no-sandbox', '--enable-blink-features=ForceEagerMeasureMemory']
const WORDS = ['bench-04', 'bench-0421', 'status:online', 'group:site-3 bench', 'nobody']

export const dashboard: Scenario = {
  name: 'dashboard',
  about:
    'the dashboard in Chromium with 50 000 devices: first picture, search, frames while 1 000 rows change, full load',
  async run(bench) {
    const executablePath =
      process.env['TEST_SERVER_CHROMIUM'] ?? process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'
    const count = bench.quick ? 5_000 : 50_000
    await bench.withDir(async (dataDir) => {
      const service = await startService({ dataDir, durability: 'process' })
      const rest = new Rest(service.httpUrl)
      const browser = await chromium.launch({ executablePath, args: BROWSER })
      try {
        await rest.login()
        bench.say(`registering ${toDigits(count)} devices`)
        const devices = await registerMany(service, rest, count)
        await withGenerator((generator) =>
          measure(bench, { service, rest, browser, generator, devices, count }),
        )
      } finally {
        await browser.close()
        rest.close()
        await service.kill()
      }
    })
  },
}

interface Setting {
  readonly service: Service
  readonly rest: Rest
  readonly browser: Browser
  readonly generator: Generator
  readonly devices: readonly DeviceLogin[]
  readonly count: number
}

async function measure(bench: Bench, setting: Setting): Promise<void> {
  const { service, generator, devices, count } = setting
  const scenario = `dashboard, ${toDigits(count)} devices`
  await generator.open({
    ...service.mqtt,
    devices: devices.slice(0, REPORTING),
    connectsAtOnce: 128,
    ringSize: 16,
    greet: true,
  })
  await addFirstPictures(bench, setting, scenario)
  await addIndex(bench, setting, scenario)
  const context = await loggedIn(setting)
  await context.addInitScript({ content: OBSERVER })
  const page = await context.newPage()
  await page.goto(`${service.httpUrl}/devices`)
  await page.locator('.grid-row').first().waitFor({ timeout: WAIT_MS })
  await addSearch(bench, page, scenario)
  await addFrames(bench, page, { scenario, generator })
  await addMemory(bench, page, scenario)
  // This device reports nothing by itself.
  const probe = devices[REPORTING]
  if (probe !== undefined) await addFlood(bench, page, { scenario, service, generator, probe })
  await context.close()
  await addCrowd(bench, { scenario, service, generator, token: setting.rest.token })
}

/** Each context starts with an empty cache. A bare page shows how long the browser takes for any page at this moment. */
async function addFirstPictures(bench: Bench, setting: Setting, scenario: string): Promise<void> {
  const [paint, drawn, bare] = [new Histogram(), new Histogram(), new Histogram()]
  const noise = new NoiseMeter()
  for (let round = 0; round < (bench.quick ? 3 : 9); round++) {
    const context = await loggedIn(setting)
    const page = await context.newPage()
    await page.goto(`${setting.service.httpUrl}/problems`)
    bare.record((await timeOf(page, 'first-contentful-paint')) * 1000)
    await page.goto(`${setting.service.httpUrl}/`)
    drawn.record((await timeOf(page, 'fleet-drawn')) * 1000)
    paint.record((await timeOf(page, 'first-contentful-paint')) * 1000)
    await context.close()
  }
  const bareMs = bare.percentiles().p50 / 1000
  const add = (name: string, { p50, max, count }: Percentiles, seconds: number) =>
    bench.add({
      scenario,
      name,
      value: p50 / 1e6,
      unit: 's',
      target: { kind: 'at_most', value: seconds },
      note:
        `median of ${count} cold contexts, max ${toDigits(max / 1e6)} s; ` +
        `${toDigits(p50 / 1000 / bareMs)} times a bare page of the same service, which took ${toDigits(bareMs)} ms${noise.note()}`,
    })
  add('first paint', paint.percentiles(), 0.5)
  add('all devices drawn', drawn.percentiles(), 1)
}

async function addIndex(bench: Bench, { service, rest }: Setting, scenario: string): Promise<void> {
  const headers = { authorization: `Bearer ${rest.token}`, 'accept-encoding': 'gzip' }
  const noise = new NoiseMeter()
  const before = sampleCpu(service.pid)
  for (let i = 0; i < INDEX_READS; i++) {
    await (await fetch(`${service.httpUrl}/api/v1/fleet/index`, { headers })).arrayBuffer()
    // The index is computed at most once a second.
    await sleep(1_100)
  }
  const { totalMicros } = cpuBetween(before, sampleCpu(service.pid))
  bench.add({
    scenario,
    name: 'CPU of one /fleet/index',
    value: totalMicros / 1000 / INDEX_READS,
    unit: 'ms',
    target: { kind: 'at_most', value: 100 },
    note: `all threads of the service in 1.1 s, what it does besides included${noise.note()}`,
  })
}

/** Types letter by letter. The browser reports the time from each key to the next frame. */
async function addSearch(bench: Bench, page: Page, scenario: string): Promise<void> {
  const noise = new NoiseMeter()
  const field = page.getByLabel('Filter devices')
  await page.evaluate('void events.splice(0)')
  for (const word of WORDS) {
    await field.fill('')
    await field.pressSequentially(word, { delay: 60 })
    await sleep(500)
  }
  const durations = await page.evaluate<readonly number[]>('events')
  const histogram = new Histogram()
  for (const ms of durations) histogram.record(ms * 1000)
  const { p50, p99, max, count } = histogram.percentiles()
  bench.add({
    scenario,
    name: 'a key of the search until its picture, p99',
    value: p99 / 1000,
    unit: 'ms',
    target: { kind: 'at_most', value: 100 },
    note: `p50 ${toDigits(p50 / 1000)}, max ${toDigits(max / 1000)} ms of ${count} events that took 16 ms or more${noise.note()}`,
  })
  await field.fill('')
}

/** Scrolls through the list while a thousand of its devices report once a second. */
async function addFrames(
  bench: Bench,
  page: Page,
  { scenario, generator }: { readonly scenario: string; readonly generator: Generator },
): Promise<void> {
  const noise = new NoiseMeter()
  const durationMs = bench.quick ? 3_000 : SCROLL_MS
  const publishing = generator.paced({
    messagesPerSec: REPORTING,
    durationMs: durationMs + 2_000,
    burst: 1,
    probe: undefined,
  })
  await page.locator('.grid-row').first().hover()
  await page.evaluate('void (frames.length = 0, isTiming = true, requestAnimationFrame(frame))')
  const until = performance.now() + durationMs
  while (performance.now() < until) {
    await page.mouse.wheel(0, 240)
    await sleep(40)
  }
  const gaps = await page.evaluate<readonly number[]>('isTiming = false, frames')
  await publishing
  const histogram = new Histogram()
  for (const ms of gaps) histogram.record(ms * 1000)
  const { p50, p99, max, count } = histogram.percentiles()
  const rows = await page.locator('.grid-row').count()
  bench.add({
    scenario,
    name: 'frames while scrolling',
    value: (count * 1000) / durationMs,
    unit: 'frames/s',
    target: { kind: 'at_least', value: 55 },
    note: `gaps p50 ${toDigits(p50 / 1000)}, p99 ${toDigits(p99 / 1000)}, max ${toDigits(max / 1000)} ms; ${rows} rows in the page${noise.note()}`,
  })
}

async function addMemory(bench: Bench, page: Page, scenario: string): Promise<void> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('HeapProfiler.collectGarbage')
  const { usedSize } = await cdp.send('Runtime.getHeapUsage')
  // The browser provides this figure only to isolated pages, which the dashboard is.
  const bytes = await page.evaluate<number>(
    'performance.measureUserAgentSpecificMemory().then((measured) => measured.bytes)',
  )
  bench.add({
    scenario,
    name: 'memory of the page and its worker',
    value: bytes / 2 ** 20,
    unit: 'MiB',
    target: { kind: 'at_most', value: 150 },
    note: `as the browser tells it; the page's heap alone holds ${toDigits(usedSize / 2 ** 20)} MiB`,
  })
}

async function loggedIn({ browser, service }: Setting): Promise<BrowserContext> {
  const { origin } = new URL(service.httpUrl)
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    // The page renews the session of its cookie only if this mark says that there may be one.
    storageState: {
      cookies: [],
      origins: [{ origin, localStorage: [{ name: 'fleet-has-session', value: '1' }] }],
    },
  })
  context.setDefaultTimeout(WAIT_MS)
  const response = await context.request.post(`${origin}/api/v1/auth/session`, {
    data: { email: 'bench@fleet.example', password: 'bench-password-1' },
    headers: { origin },
  })
  if (!response.ok()) throw new Error(`the login was answered with ${response.status()}`)
  return context
}

/** Resolves with the time of the mark, in milliseconds after the page was requested. */
async function timeOf(page: Page, name: string): Promise<number> {
  for (const from = performance.now(); performance.now() - from < WAIT_MS; ) {
    const at = await page.evaluate<number>(
      `performance.getEntriesByName(${JSON.stringify(name)})[0]?.startTime ?? -1`,
    )
    if (at >= 0) return at
    await sleep(20)
  }
  throw new Error(`the page never came to ${name}`)
}

/** A script that runs in the page. */
const OBSERVER = `
  globalThis.events = []
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (entry.interactionId > 0) events.push(entry.duration)
  }).observe({ type: 'event', durationThreshold: 16, buffered: true })
  globalThis.frames = []
  globalThis.isTiming = false
  let last = 0
  globalThis.frame = (at) => {
    if (last > 0) frames.push(at - last)
    last = isTiming ? at : 0
    if (isTiming) requestAnimationFrame(frame)
  }
`

async function registerMany(service: Service, rest: Rest, count: number): Promise<readonly DeviceLogin[]> {
  const devices: DeviceLogin[] = []
  const ids = deviceIds(count)
  for (let from = 0; from < count; from += ROWS_PER_REQUEST) {
    const lines = ids.slice(from, from + ROWS_PER_REQUEST).map((id, at) =>
      JSON.stringify({
        device_id: id,
        name: `Robot ${from + at}`,
        type: 'mqtt_device',
        group: `site-${at % 20}`,
      }),
    )
    const response = await fetch(`${service.httpUrl}/api/v1/devices/bulk`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson', authorization: `Bearer ${rest.token}` },
      body: lines.join('\n'),
    })
    if (!response.ok) throw new Error(`the registration was answered with ${response.status}`)
    // The API guarantees this shape.
    const { results } = (await response.json()) as {
      readonly results: readonly { readonly device_id: string; readonly access_token: string }[]
    }
    for (const { device_id: id, access_token: token } of results) devices.push({ id, token })
  }
  return devices
}
