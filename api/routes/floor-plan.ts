// /floor-plan: the picture under the plan of devices. It is one blob that holds the whole answer, so picture and position
// are stored together or not at all.
import { createHash } from 'node:crypto'
import type { Blobs } from '../../engine/ports/blobs.ts'
import { Fault } from '../../engine/ports/fault.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import type { FloorPlanBody } from '../../schemas/floor-plan.ts'
import { deleteFloorPlan, getFloorPlan, putFloorPlan } from '../../schemas/operations/floor-plan.ts'
import type { Caller } from '../auth/caller.ts'
import { answer, jsonAnswer } from '../http/answer.ts'
import { isFresh, quoted } from '../http/etag.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { API_LIMITS } from '../limits.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'
import { type PictureHead, parsePictureHead } from './picture-head.ts'

const KEY = 'floor-plan'
const NOTHING = 'none'

export function floorPlanRoutes({ blobs }: Services): readonly Route[] {
  const put = route(putFloorPlan, async ({ body, user }) => {
    const foreign = foreignTo(user)
    if (foreign !== undefined) return foreign
    const { left, bottom, right, top } = body
    if (left >= right) return misplaced('/right', 'must be greater than left')
    if (bottom >= top) return misplaced('/top', 'must be greater than bottom')
    const picture = Buffer.from(body.picture, 'base64')
    const limit = BODY_LIMITS.floorPlanBytesMax
    if (picture.length > limit) return refused('PAYLOAD_TOO_LARGE', { limit, actual: picture.length })
    const head = parsePictureHead(picture)
    if (head === undefined)
      return misplaced('/picture', 'must be a PNG, JPEG or WebP whose width and height can be read')
    if (head.width * head.height > BODY_LIMITS.floorPlanPixelsMax) return tooManyPixels(head)
    if (blobs === undefined) {
      const message = 'there is no place for pictures: set FLEET_S3_URL'
      throw new Fault('BLOBS_UNAVAILABLE', { retryable: false, message })
    }
    // Characters that are not Base64 were dropped when the body was parsed.
    const plan: FloorPlanBody = { media_type: head.type, ...body, picture: picture.toString('base64') }
    const stored = await blobs.put(KEY, once(plan), API_LIMITS.floorPlanBodyBytesMax)
    return stored.kind === 'put' ? answer(204, undefined) : refused('STORAGE_FULL')
  })
  return [
    route(getFloorPlan, async ({ header }) => {
      const json = blobs && (await readBlob(blobs))
      const etag = json === undefined ? NOTHING : createHash('sha256').update(json).digest('hex').slice(0, 16)
      const headers = { etag: quoted(etag), 'cache-control': 'private, no-cache' }
      if (isFresh(header('if-none-match'), etag)) return answer(304, undefined, headers)
      return json === undefined ? answer(204, undefined, headers) : jsonAnswer(json, headers)
    }),
    { ...put, bodyBytesMax: API_LIMITS.floorPlanBodyBytesMax },
    route(deleteFloorPlan, async ({ user }) => {
      const foreign = foreignTo(user)
      if (foreign !== undefined) return foreign
      await blobs?.delete(KEY)
      return answer(204, undefined)
    }),
  ]
}

function foreignTo({ groups }: Caller): Refusal | undefined {
  if (groups.length === 0) return undefined
  return refused('FORBIDDEN', { message: 'all users see the picture, and you are limited to groups' })
}

const misplaced = (path: string, message: string) => invalid(path, { code: 'NOT_ALLOWED', message })

/** Names the largest size with the same aspect ratio. */
function tooManyPixels({ width, height }: PictureHead): Refusal {
  const most = BODY_LIMITS.floorPlanPixelsMax
  const scale = Math.sqrt(most / width / height)
  const [across, down] = [width, height].map((side) => Math.max(1, Math.floor(side * scale)))
  return invalid('/picture', {
    code: 'OUT_OF_RANGE',
    message: `has ${width} × ${height} pixels, and at most ${most} in all are allowed: make it ${across} × ${down} or smaller`,
  })
}

async function* once(plan: FloorPlanBody): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify(plan))
}

async function readBlob(blobs: Blobs): Promise<Buffer | undefined> {
  const blob = await blobs.open(KEY)
  if (blob === undefined) return undefined
  try {
    const whole = Buffer.alloc(blob.bytes)
    for (let at = 0; at < whole.length; ) {
      const read = await blob.read(whole.subarray(at))
      if (read === 0) throw new Fault('BLOBS_UNAVAILABLE', { retryable: true, message: 'a blob ended early' })
      at += read
    }
    return whole
  } finally {
    await blob.close()
  }
}
