import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { SignedLinks } from '../../engine/runtime/ota/artifacts.ts'
import { TEST_OTA } from '../../engine/runtime/ota/testing/ota-settings.ts'
import { DeploymentId, FirmwareId, Millis, parseDeviceId } from '../../schemas/ids.ts'
import { firmwareForm, MULTIPART } from '../testing/multipart.ts'
import { NOW, openHarness } from '../testing/rest.ts'

const IMAGE = 'the image'
const SHA256 = createHash('sha256').update(IMAGE).digest('hex')

async function openLink() {
  const harness = openHarness()
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
    // The method is written in a test.
    harness.app.inject({ method: method as 'GET', url: path, headers })
  return { ...harness, token, record, get, link: `${pathname}${search}` }
}

test('a link gives the image, whole or in part, with what is to be known of it', async () => {
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

test('conditions are kept', async () => {
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

test('a changed link is refused, one that is over says so, and a yanked firmware is gone', async () => {
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

test('an image that is not the record’s is not sent', async () => {
  const { get, engine, record } = await openLink()
  await engine.blobs.delete(record.imageKey)
  expect((await get()).statusCode).toBe(503)
})
