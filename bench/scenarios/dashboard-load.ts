// Measures the dashboard under full load: how quickly a user sees values while 10 000 messages a second come in, and how
// much a hundred open dashboards cost.
import { connectAsync } from 'mqtt'
import type { Page } from 'playwright-core'
import type { WebSocket } from 'ws'
import { Histogram } from '../../engine/edge/histogram.ts'
import type { DeviceLogin } from '../load/device-socket.ts'
import type { Generator } from '../load/generator.ts'
import { openWebSocket } from '../load/websocket.ts'
import { cpuBetween, sampleCpu } from '../measure/cpu.ts'
import { sleep } from '../measure/deadline.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench } from '../scenario.ts'
import type { Service } from '../targets/service.ts'

const FLOOD_PER_SEC = 10_000
const PROBE_EVERY_MS = 200
/** Time for a page that was just opened to load its charts. */
const OPENED_MS = 3_000
const DASHBOARDS = 100
const WINDOW = 4
/** The interval that a dashboard requests. */
const FLEET_PACE_MS = 500
const ROUNDS = 2

export interface DashboardLoad {
  readonly scenario: string
  readonly service: Service
  readonly generator: Generator
}

/** Watches the page of a device that reports its own clock, while other devices send as many messages as they may. */
export async function addFlood(
  bench: Bench,
  page: Page,
  { scenario, service, generator, probe }: DashboardLoad & { readonly probe: DeviceLogin },
): Promise<void> {
  const { host, port } = service.mqtt
  const device = await connectAsync(`mqtt://${host}:${port}`, {
    clientId: probe.id,
    username: probe.id,
    ...(probe.token === undefined ? {} : { password: probe.token }),
  })
  const tell = () => device.publishAsync(`fleet/${probe.id}/telemetry`, `{"stamp":${Date.now()}}`, { qos: 1 })
  await tell()
  await page.goto(`${service.httpUrl}/devices/${probe.id}`)
  await page.locator('.metric-list').getByText('stamp').waitFor()
  await sleep(OPENED_MS)
  const noise = new NoiseMeter()
  const durationMs = bench.quick ? 3_000 : 10_000
  await page.evaluate(WATCHER)
  const flood = generator.paced({
    messagesPerSec: FLOOD_PER_SEC,
    durationMs: durationMs + 2_000,
    burst: 1,
    probe: undefined,
  })
  const until = performance.now() + durationMs
  while (performance.now() < until) {
    await tell()
    await sleep(PROBE_EVERY_MS)
  }
  const seen = await page.evaluate<{ ages: number[]; gaps: number[]; tasks: number[] }>('seen')
  const { deferred } = await flood
  await device.endAsync()
  const note = `beside ${toDigits(FLOOD_PER_SEC)} messages/s, ${toDigits(deferred)} of which came late${noise.note()}`
  const ages = histogramOf(seen.ages)
  bench.add(
    {
      ...{ scenario, name: 'newest value on the screen, p99', value: ages.p99, unit: 'ms' },
      target: { kind: 'at_most', value: 250 },
      note: `since its device sent it: p50 ${toDigits(ages.p50)} ms of ${ages.count}; ${note}`,
    },
    {
      ...{ scenario, name: 'frames', value: (seen.gaps.length * 1000) / durationMs, unit: 'frames/s' },
      target: { kind: 'at_least', value: 55 },
      note: `gaps p99 ${toDigits(histogramOf(seen.gaps).p99)} ms; ${note}`,
    },
    {
      ...{ scenario, name: 'longest task of the page', value: Math.max(0, ...seen.tasks), unit: 'ms' },
      target: { kind: 'at_most', value: 50 },
      note: `${seen.tasks.length} tasks took more than 50 ms; ${note}`,
    },
  )
}

/** Compares the CPU time per message with and without dashboards, alternating because the speed of a machine changes. */
export async function addCrowd(
  bench: Bench,
  { scenario, service, generator, token }: DashboardLoad & { readonly token: string },
): Promise<void> {
  const noise = new NoiseMeter()
  const [alone, beside]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await microsPerMessage(bench, service, generator))
    const sockets = await Promise.all(
      Array.from({ length: DASHBOARDS }, () => openDashboard(`${service.wsUrl}?token=${token}`)),
    )
    beside.push(await microsPerMessage(bench, service, generator))
    for (const socket of sockets) socket.close()
  }
  const mean = (list: readonly number[]) => list.reduce((sum, one) => sum + one, 0) / list.length
  bench.add({
    scenario,
    name: `what ${DASHBOARDS} dashboards add to a message`,
    value: 100 * (mean(beside) / mean(alone) - 1),
    unit: '% CPU',
    target: { kind: 'at_most', value: 5 },
    note: `${alone.map(toDigits).join(' and ')} µs without, ${beside.map(toDigits).join(' and ')} µs with them, the service’s own${noise.note()}`,
  })
}

async function openDashboard(url: string): Promise<WebSocket> {
  const socket = await openWebSocket(url, () => undefined)
  socket.send(
    JSON.stringify({ type: 'subscribe', id: 'fleet', channel: 'fleet', throttle_ms: FLEET_PACE_MS }),
  )
  return socket
}

async function microsPerMessage(bench: Bench, service: Service, generator: Generator): Promise<number> {
  const before = sampleCpu(service.pid)
  const { messages } = await generator.closed({
    window: WINDOW,
    durationMs: bench.quick ? 3_000 : 10_000,
    messagesPerDevice: undefined,
  })
  return cpuBetween(before, sampleCpu(service.pid)).totalMicros / messages
}

function histogramOf(ms: readonly number[]): {
  readonly p50: number
  readonly p99: number
  readonly count: number
} {
  const histogram = new Histogram()
  for (const one of ms) histogram.record(Math.max(0, one) * 1000)
  const { p50, p99, count } = histogram.percentiles()
  return { p50: p50 / 1000, p99: p99 / 1000, count }
}

/** A script that runs in the page and reads the value that is shown in each frame. */
const WATCHER = `
  globalThis.seen = { ages: [], gaps: [], tasks: [] }
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) seen.tasks.push(entry.duration)
  }).observe({ type: 'longtask' })
  let lastAt = 0
  let lastStamp = 0
  const look = (at) => {
    if (lastAt > 0) seen.gaps.push(at - lastAt)
    lastAt = at
    const row = [...document.querySelectorAll('.metric-list tr')].find((tr) => tr.cells[0].textContent === 'stamp')
    const stamp = Number(row?.cells[1].textContent.replaceAll(/[^0-9]/g, ''))
    if (stamp > lastStamp) {
      if (lastStamp > 0) seen.ages.push(Date.now() - stamp)
      lastStamp = stamp
    }
    requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
  undefined
`
