// /ota/firmware: the firmware that devices can be updated to.
import type { FirmwareRecord } from '../../engine/ports/ota.ts'
import type { FirmwareSort } from '../../schemas/firmware.ts'
import { FirmwareId } from '../../schemas/ids.ts'
import {
  deleteFirmware,
  editFirmware,
  getFirmware,
  getFirmwareFile,
  listFirmware,
  listOtaKeys,
} from '../../schemas/operations/firmware.ts'
import type { Caller } from '../auth/caller.ts'
import { answer } from '../http/answer.ts'
import { isFresh, parseVersionMatch, quoted } from '../http/etag.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import { type Route, route } from '../http/route.ts'
import type { ImageAnswer } from '../http/send-image.ts'
import type { Services } from '../http/services.ts'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'
import { firmwareBody } from './firmware-body.ts'
import { uploadRoute } from './firmware-upload.ts'
import { sortOrder } from './sort-order.ts'

export function firmwareRoutes(services: Services): readonly Route[] {
  const { firmware } = services.engine
  return [
    uploadRoute(services),
    route(listFirmware, async ({ query, url }) => {
      await firmware.ready()
      const { device_type: type, version, status, sha256, sort = 'created_at:DESC' } = query
      const found = [...firmware.all()]
        .filter((record) => type === undefined || record.deviceType === type)
        .filter((record) => version === undefined || record.version === version)
        .filter((record) => status === undefined || record.status === status)
        .filter((record) => sha256 === undefined || record.sha256 === sha256.toLowerCase())
        .sort(sortOrder(sort, KEYS))
      const window = toWindow(query)
      const page = found.slice(window.offset, window.offset + window.perPage)
      const bodies = await Promise.all(page.map((record) => firmwareBody(firmware, record)))
      return pageAnswer(bodies, found.length, window, url)
    }),
    route(getFirmware, async ({ params, header }) => {
      await firmware.ready()
      const record = firmware.get(FirmwareId(params.firmware_id))
      if (record === undefined) return firmwareNotFound()
      const etag = String(record.revision)
      const headers = { etag: quoted(etag) }
      if (isFresh(header('if-none-match'), etag)) return answer(304, undefined, headers)
      return answer(200, await firmwareBody(firmware, record), headers)
    }),
    route(getFirmwareFile, async ({ params, user }) => {
      await firmware.ready()
      const record = firmware.get(FirmwareId(params.firmware_id))
      return record === undefined ? firmwareNotFound() : { kind: 'image', image: imageFor(record, user) }
    }),
    route(editFirmware, async ({ params, query, body, header }) => {
      const revision = revisionOf(header('if-match'))
      if (typeof revision === 'object') return revision
      const edited = await firmware.edit({
        id: FirmwareId(params.firmware_id),
        changelog: body.changelog,
        status: body.status,
        revision,
        force: query.force === true,
      })
      if (edited.kind === 'refused') return edited
      const { record } = edited
      return answer(200, await firmwareBody(firmware, record), { etag: quoted(String(record.revision)) })
    }),
    route(deleteFirmware, async ({ params, query, header }) => {
      const revision = revisionOf(header('if-match'))
      if (typeof revision === 'object') return revision
      const id = FirmwareId(params.firmware_id)
      const removed = await firmware.remove({ id, revision, force: query.force === true })
      return removed.kind === 'refused' ? removed : answer(204, undefined)
    }),
    route(listOtaKeys, () => answer(200, { keys: services.ota.jwks }, { 'cache-control': 'max-age=300' })),
  ]

  function imageFor(record: FirmwareRecord, { id }: Caller): ImageAnswer {
    return {
      record,
      cacheControl: 'private, no-cache, no-transform',
      reader: {
        name: `user/${id}`,
        isWithdrawn: () => firmware.get(record.id) === undefined,
        onStarted: () => {},
        onSent: () => {},
      },
      retryAfterSec: API_LIMITS.retryAfterSec,
      onMissing: () => firmware.downloads.imageMissing(record.id),
    }
  }
}

/** Undefined means any revision. */
function revisionOf(ifMatch: string | undefined): number | undefined | Refusal {
  const match = parseVersionMatch(ifMatch)
  if (match.kind === 'read') return match.version
  return refused('PRECONDITION_FAILED', { message: 'If-Match is no ETag of a firmware' })
}

const KEYS: Readonly<Record<FirmwareSort, (record: FirmwareRecord) => string | number>> = {
  created_at: ({ createdAt }) => createdAt,
  updated_at: ({ updatedAt }) => updatedAt,
  version: ({ version }) => version,
  device_type: ({ deviceType }) => deviceType,
  size_bytes: ({ sizeBytes }) => sizeBytes,
}

const firmwareNotFound = () => refused('NOT_FOUND', { message: 'no such firmware' })
