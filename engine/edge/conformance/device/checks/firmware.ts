// OTA: how a device installs firmware.
import { isSameVersion } from '../../../../../schemas/same-version.ts'
import { SkippedCheck, UnmetCheck } from '../../verdict.ts'
import type { Bench } from '../bench.ts'
import type { Check, Track } from '../check.ts'
import {
  expectRefusal,
  imageOf,
  knownVersion,
  makeOrder,
  type Order,
  offer,
  reportsOf,
  reportWith,
  untilInstalled,
} from '../firmware-order.ts'
import { toEvidence } from '../recording.ts'

const CLAUSE = 'DEVICES.md, What a device is sent'
const REFUSED_MS = 20_000
const QUIET_MS = 3_000
const SOON_MS = 30_000
const RETRY_AFTER_SEC = 3
/** The clocks of the device and the kit may run at slightly different rates. */
const EARLY_MS = 200
const SLOW_BYTES_PER_SEC = 32 * 1024

/** Checks that run in a track of their own, on another instance of the device program. */
const TRACKS: Readonly<Record<string, Track>> = {
  'OTA-07': 'downloads',
  'OTA-08': 'downloads',
  'OTA-10': 'killed',
  'OTA-11': 'downloads',
  'OTA-14': 'refusals',
  'OTA-15': 'refusals',
  'OTA-16': 'refusals',
  'OTA-19': 'stalled',
}

export const FIRMWARE_CHECKS: readonly Check[] = [
  check('OTA-02', 'the device downloads, installs, restarts and reports the new version', async (bench) => {
    await update(bench, {})
  }),
  check(
    'OTA-03',
    'the device refuses an image with a different SHA-256 and keeps its version',
    async (bench) => {
      const order = makeOrder(bench, { version: await otherVersion(bench) })
      // This image has the same size and other bytes.
      const bytes = imageOf(order.version)
      bench.downloads.serve(order.image, { bytes, etag: '"corrupt"' })
      await expectRefusal(bench, order, { quietMs: REFUSED_MS })
    },
  ),
  check('OTA-04', 'the device refuses an image that is larger than announced', async (bench) => {
    const version = await otherVersion(bench)
    const bytes = imageOf(version)
    const order = makeOrder(bench, {
      version,
      serving: { bytes },
      fields: { size_bytes: bytes.length - 1_000 },
    })
    await expectRefusal(bench, order, { quietMs: REFUSED_MS })
  }),
  check('OTA-05', 'the device resumes a download that breaks in the middle', async (bench) => {
    const order = await update(bench, { cutAt: 0.5 })
    const [, second] = bench.downloads.requests.filter(({ name }) => name === order.image)
    if (second === undefined || !/^bytes=[1-9]\d*-/.test(second.range ?? ''))
      throw new UnmetCheck(
        'it downloaded the whole image again instead of the rest',
        `GET with Range: ${second?.range ?? 'none'}`,
      )
  }),
  check(
    'OTA-06',
    'the device starts the download again if the server does not support ranges',
    async (bench) => {
      await update(bench, { cutAt: 0.5, isRangeless: true })
    },
  ),
  check('OTA-07', 'the device waits for the time in Retry-After on 429 and 503', obeysRetryAfter),
  check('OTA-08', 'the device requests another download address if its own has expired', requestsNewAddress),
  check(
    'OTA-09',
    'the device answers a repeated message with its status and installs nothing twice',
    async (bench) => {
      const order = await update(bench, {})
      const installs = () => count(bench, order, 'installing', 'rebooting')
      const before = { reports: reportsOf(bench, order).length, installs: installs() }
      await offer(bench, order)
      await bench.until(
        'a report on ota/status that answers the repeated message',
        () => reportsOf(bench, order).length > before.reports,
        SOON_MS,
      )
      await bench.observe(() => installs() > before.installs, QUIET_MS)
      if (installs() > before.installs) throw new UnmetCheck('it installed the same firmware twice')
    },
  ),
  check(
    'OTA-10',
    'the device reports its version after it was killed during a download or an installation',
    reportsAfterKill,
  ),
  check(
    'OTA-11',
    'the device does not install an update that was cancelled before the installation',
    stopsWhenCancelled,
  ),
  check('OTA-12', 'a rollback restores the previous version', async (bench) => {
    const before = await knownVersion(bench)
    await update(bench, {})
    await update(bench, {}, { version: before, action: 'rollback' })
  }),
  check('OTA-13', 'the device does not download the version that it already runs', async (bench) => {
    const order = makeOrder(bench, { version: await knownVersion(bench) })
    await offer(bench, order)
    const find = () => reportWith(bench, order, 'already_installed', 'succeeded')
    await bench.until('already_installed on ota/status', find, SOON_MS)
    if (isAskedFor(bench, order)) throw new UnmetCheck('it downloads the version that it already runs')
  }),
  check(
    'OTA-14',
    'the device refuses firmware for another type or with a manifest for another device',
    async (bench) => {
      const order = makeOrder(bench, {
        version: await otherVersion(bench),
        fields: { device_type: 'another_type' },
      })
      await expectRefusal(bench, order, { quietMs: REFUSED_MS })
      if (!(await checksManifests(bench))) return
      const stray = makeOrder(bench, {
        version: await otherVersion(bench),
        claims: { sub: 'another-device' },
      })
      await expectRefusal(bench, stray, { quietMs: REFUSED_MS })
    },
  ),
  check(
    'OTA-15',
    'the device refuses a manifest that is outdated or wrongly signed, if it checks manifests',
    refusesBadManifests,
  ),
  check('OTA-16', 'the device does not start an expired update', async (bench) => {
    const past = new Date(Date.now() - 60_000).toISOString()
    const order = makeOrder(bench, { version: await otherVersion(bench), fields: { expires_at: past } })
    await expectRefusal(bench, order, { quietMs: QUIET_MS })
    if (isAskedFor(bench, order)) throw new UnmetCheck('it downloads the image of an expired update')
  }),
  { ...check('OTA-18', 'a device that defers an update reports until when', defers), level: 'SHOULD' },
  check('OTA-19', 'the device completes a download that stalls for a minute', async (bench) => {
    await update(bench, { stall: { at: 0.5, ms: 60_000 * bench.device.pace } })
  }),
]

function check(id: string, title: string, run: Check['run']): Check {
  return { id, level: 'MUST', track: TRACKS[id] ?? 'firmware', clause: CLAUSE, title, run }
}

/** Returns a version that the device does not run. */
async function otherVersion(bench: Bench): Promise<string> {
  return nextVersion(await knownVersion(bench))
}

function nextVersion(version: string): string {
  const last = /(?<!\d)\d+$/.exec(version)
  return last === null ? '1.0.1' : `${version.slice(0, last.index)}${Number(last[0]) + 1}`
}

/** Offers an update and waits until the device runs it. */
async function update(
  bench: Bench,
  serving: Parameters<typeof makeOrder>[1]['serving'],
  { version, action = 'install' }: { readonly version?: string; readonly action?: string } = {},
): Promise<Order> {
  const goal = version ?? (await otherVersion(bench))
  const bytes = imageOf(goal)
  const order = makeOrder(bench, { version: goal, serving: { bytes, ...serving }, fields: { action } })
  await offer(bench, order)
  await untilInstalled(bench, order)
  return order
}

function isAskedFor({ downloads }: Bench, { image }: Order): boolean {
  return downloads.requests.some(({ name }) => name === image)
}

function count(bench: Bench, order: Order, ...words: readonly string[]): number {
  return reportsOf(bench, order).filter(({ body }) => words.includes(String(body?.['status']))).length
}

async function obeysRetryAfter(bench: Bench): Promise<void> {
  const refusal = { retryAfterSec: RETRY_AFTER_SEC, body: { code: 'RATE_LIMIT_EXCEEDED' } }
  const order = await update(bench, {
    refusals: [
      { ...refusal, status: 429 },
      { ...refusal, status: 503 },
    ],
  })
  const times = bench.downloads.requests.filter(({ name }) => name === order.image).map(({ at }) => at)
  for (const [index, at] of times.entries()) {
    const waited = at - (times[index - 1] ?? 0)
    if (index > 0 && index < 3 && waited < RETRY_AFTER_SEC * 1_000 - EARLY_MS)
      throw new UnmetCheck(`it tried again after ${waited} ms; Retry-After was ${RETRY_AFTER_SEC} s`)
  }
}

async function requestsNewAddress(bench: Bench): Promise<void> {
  const refusals = [{ status: 403, body: { code: 'URL_EXPIRED', detail: 'URL_EXPIRED' } }]
  const version = await otherVersion(bench)
  const order = makeOrder(bench, { version, serving: { bytes: imageOf(version), refusals } })
  await offer(bench, order)
  await bench.until('refresh on ota/status', () => reportWith(bench, order, 'refresh'), SOON_MS)
  // The same order is offered again, and the server no longer refuses the address.
  await offer(bench, order)
  await untilInstalled(bench, order)
}

async function reportsAfterKill(bench: Bench): Promise<void> {
  const { program } = bench
  const before = await knownVersion(bench)
  const goal = nextVersion(before)
  const serving = { bytes: imageOf(goal), bytesPerSec: SLOW_BYTES_PER_SEC }
  const order = makeOrder(bench, { version: goal, serving })
  await offer(bench, order)
  await bench.until('the device downloads the image', () => isAskedFor(bench, order), SOON_MS)
  await bench.wait(500)
  await bench.killAndRestart()
  const after = await knownVersion(bench)
  if (!isSameVersion(after, before))
    throw new UnmetCheck(`it runs ${after} after it was killed during a download, and ran ${before} before`)
  await offer(bench, order)
  await untilInstalled(bench, order)
  const next = makeOrder(bench, { version: nextVersion(goal) })
  await offer(bench, next)
  await bench.until(
    'installing on ota/status',
    () => reportWith(bench, next, 'installing', 'rebooting'),
    SOON_MS,
  )
  await program.stop('SIGKILL')
  await bench.ready()
  const now = await knownVersion(bench)
  if (!isSameVersion(now, goal) && !isSameVersion(now, next.version))
    throw new UnmetCheck(
      `it runs ${now} after it was killed during an installation, which is neither ${goal} nor ${next.version}`,
    )
}

async function stopsWhenCancelled(bench: Bench): Promise<void> {
  const before = await knownVersion(bench)
  const version = nextVersion(before)
  const serving = { bytes: imageOf(version), bytesPerSec: SLOW_BYTES_PER_SEC }
  const order = makeOrder(bench, { version, serving })
  await offer(bench, order)
  await bench.until('the device downloads the image', () => isAskedFor(bench, order), SOON_MS)
  const { message } = makeOrder(bench, {
    version,
    fields: { ...order.message, action: 'cancel', seq: Number(order.message['seq']) + 1 },
  })
  await bench.broker.send('ota', message)
  // Waits longer than the rest of the download takes.
  const wholeMs = (serving.bytes.length / SLOW_BYTES_PER_SEC) * 1_000 + 1_000
  const isOver = () => reportWith(bench, order, 'cancelled', 'installing', 'rebooting')
  const until = Date.now() + wholeMs
  while (isOver() === undefined && Date.now() < until) await bench.wait(50)
  const wrong = reportWith(bench, order, 'installing', 'rebooting')
  if (wrong !== undefined) throw new UnmetCheck('it installs a cancelled update', toEvidence(wrong))
  const after = await knownVersion(bench)
  if (!isSameVersion(before, after)) throw new UnmetCheck(`it runs ${after} now, and ran ${before} before`)
}

/** Finds out whether the device checks manifests, which is optional. A device that installs an image with an invalid
 *  signature does not. */
async function checksManifests(bench: Bench): Promise<boolean> {
  bench.checksManifests ??= await refusesForgery(bench)
  return bench.checksManifests
}

async function refusesForgery(bench: Bench): Promise<boolean> {
  const order = makeOrder(bench, { version: await otherVersion(bench) })
  const [head = '', body = ''] = String(order.message['manifest']).split('.')
  const forged = { ...order, message: { ...order.message, manifest: `${head}.${body}.AAAA` } }
  await offer(bench, forged)
  const isTaken = () => reportWith(bench, forged, 'downloading', 'downloaded', 'installing', 'rebooting')
  await bench.observe(() => reportWith(bench, forged, 'rejected', 'failed') ?? isTaken(), REFUSED_MS)
  if (isTaken() === undefined) return true
  try {
    await untilInstalled(bench, forged)
    return false
  } catch (error) {
    if (!(error instanceof UnmetCheck)) throw error
    return true
  }
}

async function refusesBadManifests(bench: Bench): Promise<void> {
  if (!(await checksManifests(bench))) throw new SkippedCheck('the device does not check manifests')
  await update(bench, {})
  const old = makeOrder(bench, { version: await otherVersion(bench), fields: { seq: 1 } })
  await expectRefusal(bench, old, { quietMs: QUIET_MS })
}

/** Deferring updates is optional, so this check only examines the reports of other checks. */
async function defers(bench: Bench): Promise<void> {
  await bench.ready()
  const deferred = bench.broker
    .published('ota/status')
    .filter(({ body }) => String(body?.['status']).toLowerCase() === 'deferred')
  if (deferred.length === 0) throw new SkippedCheck('the device deferred no update')
  for (const message of deferred) {
    const { until, retry_after_sec: after } = message.body ?? {}
    const isTime = typeof until === 'string' && !Number.isNaN(Date.parse(until))
    if (!isTime && !(typeof after === 'number' && after >= 0))
      throw new UnmetCheck('it defers an update and does not report for how long', toEvidence(message))
  }
}
