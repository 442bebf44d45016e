import { expect, test } from 'vitest'
import { openHarness } from '../testing/rest.ts'
import { jpeg, png, webp } from './testing/pictures.ts'

const PATH = '/api/v1/floor-plan'
const MIB = 1024 * 1024
const PNG = png(640, 480)
const JPEG = jpeg(640, 480)
const WEBP = webp('VP8 ', 640, 480)
const AXES = { x_metric: 'position.x', y_metric: 'position.y' }
const PLACE = { ...AXES, left: -1.5, bottom: 0, right: 40, top: 25 }
const planOf = (picture: Buffer, place: object = {}) => ({
  ...PLACE,
  ...place,
  picture: picture.toString('base64'),
})

async function opened() {
  const { request, login } = openHarness()
  const { token } = await login('operator')
  const { token: viewer } = await login('viewer')
  const put = (body: object) => request(`PUT ${PATH}`, { token, body })
  const get = (etag?: string) =>
    request(`GET ${PATH}`, { token: viewer, headers: etag === undefined ? {} : { 'if-none-match': etag } })
  return { request, login, token, put, get }
}

test.each([
  ['image/png', PNG],
  ['image/jpeg', JPEG],
  ['image/webp', WEBP],
])(
  'a picture of type %s is read by everybody as it was laid, with the type that its bytes say',
  async (media_type, picture) => {
    const { put, get } = await opened()
    expect((await put(planOf(picture))).status).toBe(204)
    const { status, body, headers } = await get()
    expect([status, body]).toEqual([200, { media_type, ...planOf(picture) }])
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'private, no-cache',
    })
  },
)

test('there is one picture, and a cached copy is valid until another one replaces it', async () => {
  const { request, token, put, get } = await opened()
  const none = await get()
  expect([none.status, none.text]).toEqual([204, ''])
  await put(planOf(PNG))
  const tag = String((await get()).headers['etag'])
  expect((await get(tag)).status).toBe(304)
  await put(planOf(PNG, { right: 50 }))
  const moved = await get(tag)
  expect([moved.status, moved.body.right]).toEqual([200, 50])
  expect((await request(`DELETE ${PATH}`, { token })).status).toBe(204)
  expect((await get(String(moved.headers['etag']))).status).toBe(204)
  expect((await request(`DELETE ${PATH}`, { token })).status).toBe(204)
})

test.each([
  ['an SVG', '/picture', planOf(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))],
  ['a page', '/picture', planOf(Buffer.from('<!doctype html>'))],
  ['nothing', '/picture', planOf(Buffer.from('\0'))],
  ['a PNG without a size', '/picture', planOf(PNG.subarray(0, 20))],
  ['corners in one place', '/right', planOf(PNG, { right: PLACE.left })],
  ['corners upside down', '/top', planOf(PNG, { top: -1 })],
])('%s is refused, and what was there stays', async (_, path, wrong) => {
  const { put, get } = await opened()
  await put(planOf(JPEG))
  const { status, body } = await put(wrong)
  expect([status, body.errors]).toMatchObject([422, [{ path }]])
  expect((await get()).body.media_type).toBe('image/jpeg')
})

test('a picture may have 4 MiB and no more', async () => {
  const { put, get } = await opened()
  const largest = Buffer.concat([PNG, Buffer.alloc(4 * MIB - PNG.length)])
  expect((await put(planOf(largest))).status).toBe(204)
  expect((await get()).body.picture).toHaveLength(Math.ceil((4 * MIB) / 3) * 4)
  const larger = await put(planOf(Buffer.concat([largest, Buffer.alloc(1)])))
  expect([larger.status, larger.body.limit, larger.body.actual]).toEqual([413, 4 * MIB, 4 * MIB + 1])
  expect((await put(planOf(Buffer.concat([largest, PNG])))).status).toBe(422)
  expect((await put(planOf(Buffer.alloc(5 * MIB)))).status).toBe(413)
})

test.each([
  ['a PNG', png(30_000, 30_000), '6324 × 6324'],
  ['a JPEG', jpeg(65_535, 611), '65500 × 610'],
  ['a WebP', webp('VP8X', 2 ** 24, 2 ** 8), '1619086 × 24'],
])(
  '%s of too many pixels is refused, however small the file, with the size it may have',
  async (_, picture, size) => {
    const { put } = await opened()
    const { status, body } = await put(planOf(picture))
    expect([status, body.errors]).toMatchObject([422, [{ path: '/picture', code: 'OUT_OF_RANGE' }]])
    expect(body.errors[0].message).toContain(`make it ${size} or smaller`)
    expect((await put(planOf(png(8_000, 5_000)))).status).toBe(204)
  },
)

test('a user limited to groups sees the picture but cannot change it for everybody', async () => {
  const { request, login, put } = await opened()
  await put(planOf(PNG))
  const { token } = await login('admin', { groups: ['eu'] })
  expect((await request(`GET ${PATH}`, { token })).status).toBe(200)
  const replaced = await request(`PUT ${PATH}`, { token, body: planOf(JPEG) })
  expect([replaced.status, replaced.body.code]).toEqual([403, 'FORBIDDEN'])
  expect((await request(`DELETE ${PATH}`, { token })).status).toBe(403)
  expect((await request(`GET ${PATH}`, { token })).body.media_type).toBe('image/png')
})
