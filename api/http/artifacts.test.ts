import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { BlobAddress } from '../../engine/ports/blobs.ts'
import { Fault } from '../../engine/ports/fault.ts'
import { SignedLinks } from '../../engine/runtime/ota/artifacts.ts'
import { TEST_OTA } from '../../engine/runtime/ota/testing/ota-settings.ts'
import { DeploymentId, FirmwareId, Millis, parseDeviceId } from '../../schemas/ids.ts'
import { firmwareForm, MULTIPART } from '../testing/multipart.ts'
import { type HarnessOptions, NOW, openHarness } from '../testing/rest.ts'

const IMAGE = 'the image'
const SHA256 = createHash('sha256').update(IMAGE).digest('hex')

async function openLink(options: HarnessOptions = {}) {
  const harness = openHarness(options)
  const { token } = await harness.login('admin')
  const { body } = await harness.request('POST /api/v1/ota/firmware', {
    token,
    headers: MULTIPART,
    body: firmwareForm({ version: '1.0.0', device_type: 'simulator' }),
  })
  const record = harness.engine.firmware.get(FirmwareId(body.firmware_id)) ?? expect.fail('no record')
  const deviceId = parseDeviceId('r') ?? expect.fail('no id')
  const job = {
    deviceId,
    deploymentId: DeploymentId('dep_1'),
    attempt: 1,
    seq: 1,
    action: 'install' as const,
  }
  const { url } = new SignedLinks(TEST_OTA).sendable(record, { ...job, issuedAt: Millis(NOW) })
  const { pathname, search } = new URL(url)
  const get = (headers: Record<string, string> = {}, path = `${pathname}${search}`, method = 'GET') =>
    // The tests below give the method as text.
    harness.app.inject({ method: method as 'GET', url: path, headers })
  return { ...harness, token, record, get, link: `${pathname}${search}` }
}

test('a link serves the image, whole or in part, with its headers', async () => {
  const { get } = await openLink()
  const whole = await get()
  expect([whole.statusCode, whole.payload]).toEqual([200, IMAGE])
  expect(whole.headers).toMatchObject({
    'accept-ranges': 'bytes',
    'content-length': '9',
    etag: `"sha256-${SHA256}"`,
    'repr-digest': `sha-256=:${Buffer.from(SHA256, 'hex').toString('base64')}:`,
    'last-modified': new Date(NOW).toUTCString(),
    'cache-control': 'private, max-age=86400, immutable, no-transform',
    'content-disposition': `attachment; filename="image.bin"; filename*=UTF-8''image.bin`,
    'x-content-type-options': 'nosniff',
  })
  const part = await get({ range: 'bytes=4-' })
  expect([part.statusCode, part.payload]).toEqual([206, 'image'])
  expect(part.headers).toMatchObject({ 'content-range': 'bytes 4-8/9', 'content-length': '5' })
  const head = await get({}, undefined, 'HEAD')
  expect([head.statusCode, head.payload, head.headers['content-length']]).toEqual([200, '', '9'])
  const several = await get({ range: 'bytes=0-1,3-4' })
  expect([several.statusCode, several.payload]).toEqual([200, IMAGE])
  const beyond = await get({ range: 'bytes=9-' })
  expect([beyond.statusCode, beyond.headers['content-range']]).toEqual([416, 'bytes */9'])
})

test('conditional requests are honoured', async () => {
  const { get } = await openLink()
  const etag = `"sha256-${SHA256}"`
  expect((await get({ 'if-none-match': etag })).statusCode).toBe(304)
  for (const [ifRange, status] of [
    [etag, 206],
    [new Date(NOW).toUTCString(), 206],
    ['"other"', 200],
    [`W/${etag}`, 200],
    [new Date(0).toUTCString(), 200],
  ] as const)
    expect((await get({ range: 'bytes=0-1', 'if-range': ifRange })).statusCode, ifRange).toBe(status)
})

test('a changed link is refused, an expired one is reported as expired, and a yanked firmware is gone', async () => {
  const { get, link, clock, request, token, record } = await openLink()
  const codeOf = ({ statusCode, payload }: Awaited<ReturnType<typeof get>>) => [
    statusCode,
    JSON.parse(payload).status,
    JSON.parse(payload).code,
  ]
  for (const wrong of [
    link.replace('device=r', 'device=s'),
    link.replace(/signature=./, 'signature='),
    link.split('?')[0],
  ])
    expect(codeOf(await get({}, wrong))).toEqual([403, 403, 'URL_INVALID'])
  await request(`PATCH /api/v1/ota/firmware/${record.id}`, { token, body: { status: 'yanked' } })
  expect(codeOf(await get())).toEqual([410, 410, 'FIRMWARE_YANKED'])
  clock.at = NOW + 86_400_000
  expect(codeOf(await get())).toEqual([403, 403, 'URL_EXPIRED'])
})

test('a link is refused whose job was cancelled before this node started', async () => {
  const { get, engine } = await openLink()
  const { downloads } = engine.firmware
  downloads.untilKnown = async () => {
    downloads.isWithdrawn = () => true
  }
  expect((await get()).statusCode).toBe(410)
})

describe('a device that cannot download its image now gets the full time for it again', () => {
  async function opened(options: HarnessOptions = {}) {
    const link = await openLink(options)
    const sentAway: string[] = []
    link.engine.firmware.downloads.refused = ({ deviceId }) => sentAway.push(deviceId)
    const away = async () => {
      throw new Fault('BLOBS_UNAVAILABLE', { retryable: true, message: 'away' })
    }
    return { ...link, sentAway, away }
  }

  test('because the image store is unavailable, and then available again', async () => {
    const { get, engine, sentAway, away } = await opened()
    const { open } = engine.blobs
    engine.blobs.open = away
    const refused = await get()
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([
      503,
      expect.stringMatching(/^\d+$/),
    ])
    expect(sentAway).toEqual(['r'])
    engine.blobs.open = open
    expect((await get()).payload).toBe(IMAGE)
    expect(sentAway).toEqual(['r'])
  })

  test('because the bucket it is redirected to is unavailable', async () => {
    const { get, engine, sentAway, away } = await opened({ ota: { downloads: 'redirect' } })
    engine.blobs.address = away
    expect((await get()).statusCode).toBe(503)
    expect(sentAway).toEqual(['r'])
  })

  test('because its image is gone', async () => {
    const { get, engine, record, sentAway } = await opened()
    await engine.blobs.delete(record.imageKey)
    expect((await get()).statusCode).toBe(503)
    expect(sentAway).toEqual(['r'])
  })
})

describe('where devices are redirected to a bucket', () => {
  async function openBucket() {
    const opened = await openLink({ ota: { downloads: 'redirect' } })
    const asked: [string, BlobAddress][] = []
    opened.engine.blobs.address = async (key, about) => {
      asked.push([key, about])
      return `https://bucket.example.com/${key}?signed`
    }
    return { ...opened, asked }
  }

  test('a valid link redirects to an image address that is valid for 15 minutes and not cached', async () => {
    const { get, record, asked } = await openBucket()
    const { statusCode, headers, payload } = await get({ range: 'bytes=4-' })
    expect([statusCode, payload]).toEqual([307, ''])
    expect(headers).toMatchObject({
      location: `https://bucket.example.com/${record.imageKey}?signed`,
      'cache-control': 'no-store',
    })
    const contentDisposition = `attachment; filename="image.bin"; filename*=UTF-8''image.bin`
    const about = { seconds: 900, contentType: record.contentType, contentDisposition }
    expect(asked).toEqual([[record.imageKey, about]])
  })

  test('a device that has the image, or only asks about it, is answered without a redirect', async () => {
    const { get, asked } = await openBucket()
    expect((await get({ 'if-none-match': `"sha256-${SHA256}"` })).statusCode).toBe(304)
    const head = await get({}, undefined, 'HEAD')
    expect([head.statusCode, head.headers['content-length']]).toEqual([200, '9'])
    expect(asked).toEqual([])
  })

  test('a changed link, a yanked firmware and an image with other bytes are refused as without a bucket', async () => {
    const { get, link, engine, record, request, token, asked } = await openBucket()
    expect((await get({}, link.replace('device=r', 'device=s'))).statusCode).toBe(403)
    const { bytes = 0 } = (await engine.blobs.head(record.imageKey)) ?? {}
    const other = async function* () {
      yield Buffer.alloc(bytes)
    }
    await engine.blobs.put(record.imageKey, other(), bytes)
    expect((await get()).statusCode).toBe(503)
    await request(`PATCH /api/v1/ota/firmware/${record.id}`, { token, body: { status: 'yanked' } })
    expect((await get()).statusCode).toBe(410)
    expect(asked).toEqual([])
  })

  test('images that are not in a bucket are served by the service', async () => {
    const { get } = await openLink({ ota: { downloads: 'redirect' } })
    expect((await get()).payload).toBe(IMAGE)
  })
})
