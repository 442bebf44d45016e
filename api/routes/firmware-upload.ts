// POST /ota/firmware: uploads an image with its description.
//
// - The image is stored and hashed as it arrives, before its fields are known, because they may come last. If anything
//   turns out to be wrong, the image is removed again.
import { Readable } from 'node:stream'
import { toFilename } from '../../engine/domain/ota/filename.ts'
import { LIMITS } from '../../engine/limits.ts'
import type { NewFirmware, StoredImage, UploadedImage } from '../../engine/ports/ota.ts'
import { FirmwareFields } from '../../schemas/firmware.ts'
import { FirmwareId } from '../../schemas/ids.ts'
import { uploadFirmware } from '../../schemas/operations/firmware.ts'
import type { Caller } from '../auth/caller.ts'
import { type Answer, answer } from '../http/answer.ts'
import { quoted } from '../http/etag.ts'
import { type FilePart, type ReadForm, readForm } from '../http/multipart.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { type Check, checkOf } from '../http/validation.ts'
import { API_LIMITS } from '../limits.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'
import { firmwareBody } from './firmware-body.ts'
import { isSignedBy } from './signatures.ts'

const FILE_NAMES = ['file', 'firmware', 'binary']
const CONTENT_TYPE = /^[\w.+-]{1,127}\/[\w.+-]{1,127}(?=;|$)/

type Form = ReadForm<StoredImage>

export function uploadRoute(services: Services): Route {
  const check = checkOf(FirmwareFields, 'body')
  let underWay = 0
  const upload = route(uploadFirmware, async ({ body, header, user }) => {
    if (underWay >= LIMITS.uploadsAtOnceMax)
      return refused('RATE_LIMIT_EXCEEDED', {
        message: `${underWay} uploads are under way; try again`,
        retry_after_sec: API_LIMITS.retryAfterSec,
      })
    underWay++
    try {
      return await receive(services, { body, header, user, check })
    } finally {
      underWay--
    }
  })
  return { ...upload, bodyBytesMax: services.ota.uploadBytesMax }
}

interface Upload {
  readonly body: AsyncIterable<Uint8Array>
  readonly header: (name: string) => string | undefined
  readonly user: Caller
  readonly check: Check
}

async function receive(services: Services, upload: Upload): Promise<Answer | Refusal> {
  const { firmware } = services.engine
  const { uploadBytesMax } = services.ota
  const body = upload.body instanceof Readable ? upload.body : Readable.from(upload.body)
  const form = await readForm<StoredImage>(body, {
    contentType: upload.header('content-type') ?? '',
    fileBytesMax: uploadBytesMax,
    silenceMs: services.ota.uploadSilenceMs,
    fileFields: FILE_NAMES,
    consume: (content) => firmware.storeImage(content, uploadBytesMax),
    discard: async (taken) => {
      if (taken.kind === 'stored') await firmware.dropImage(taken.image.key)
    },
    refuse: (bytes, { device_type: type }) => tooLarge(services, { bytes, type }),
  })
  if (form.kind === 'refused') return form
  const { file } = form
  if (file === undefined) return missing('/file')
  const { result: taken } = file
  if (taken.kind === 'too_large') return refused('PAYLOAD_TOO_LARGE', { limit: uploadBytesMax })
  if (taken.kind === 'full')
    return refused('STORAGE_FULL', {
      message:
        'the disk or the bucket of images has no room for this one, although they have not reached `limit`: make room there',
      ...{ limit: firmware.storageBytesMax, used: firmware.storageBytes() },
    })
  const { image } = taken
  let isTaken = false
  try {
    const made = await toFirmware(services, { ...upload, form, file, image })
    if (made.kind === 'refused') return made
    // From here on, the writer of the record decides about the image.
    isTaken = true
    const added = await firmware.add(made.firmware)
    if (added.kind === 'refused') return added
    const headers = { etag: quoted(String(added.record.revision)) }
    const location = { location: `${uploadFirmware.path}/${added.record.id}` }
    return {
      ...answer(added.isNew ? 201 : 200, await firmwareBody(firmware, added.record), {
        ...headers,
        ...(added.isNew ? location : {}),
      }),
      auditDetail: {
        version: added.record.version,
        device_type: added.record.deviceType,
        sha256: image.sha256,
      },
    }
  } finally {
    if (!isTaken) await firmware.dropImage(image.key)
  }
}

interface ReceivedImage extends Upload {
  readonly form: Form
  readonly file: FilePart
  readonly image: UploadedImage
}

async function toFirmware(
  services: Services,
  { form, file, image, check, header, user }: ReceivedImage,
): Promise<{ readonly kind: 'firmware'; readonly firmware: NewFirmware } | Refusal> {
  // HTML forms send empty texts for fields that were left out.
  const given = Object.fromEntries(Object.entries(form.fields).filter(([, value]) => value !== ''))
  const wrong = check(given, 0)
  if (wrong !== undefined) return wrong
  // The fields have just been validated.
  const fields = given as FirmwareFields
  const { device_type: deviceType, version, signature, signature_alg: alg = 'ed25519' } = fields
  if (!services.deviceTypes.names.includes(deviceType))
    return invalid('/device_type', {
      code: 'NOT_ALLOWED',
      message: `must be one of ${services.deviceTypes.names.join(', ')}`,
    })
  if (image.bytes === 0) return invalid('/file', { code: 'TOO_SHORT', message: 'is empty' })
  const refusal =
    tooLarge(services, { bytes: image.bytes, type: deviceType }) ??
    otherChecksum(image, fields.sha256) ??
    otherChecksum(image, digestOf(header('repr-digest')))
  if (refusal !== undefined) return refusal
  const firmware: NewFirmware = {
    id: FirmwareId(services.ids.next('fw_')),
    version,
    deviceType,
    changelog: fields.changelog ?? '',
    filename: toFilename(file.name),
    sizeBytes: image.bytes,
    contentType: fields.content_type ?? CONTENT_TYPE.exec(file.type ?? '')?.[0] ?? 'application/octet-stream',
    sha256: image.sha256,
    imageKey: image.key,
    signature: signature === undefined ? undefined : { value: signature, alg },
    signatureVerified: undefined,
    minFromVersion: fields.min_from_version,
    fromVersions: fields.from_versions?.split(',').map((one) => one.trim()) ?? [],
    reportsAs: fields.reports_as ?? version,
    uploadedBy: user.id,
  }
  return verified(services, firmware)
}

async function verified(
  { ota: { trustedKeys }, engine }: Services,
  firmware: NewFirmware,
): Promise<{ readonly kind: 'firmware'; readonly firmware: NewFirmware } | Refusal> {
  const { signature, sha256 } = firmware
  if (trustedKeys.length === 0) return { kind: 'firmware', firmware }
  if (signature === undefined) return refused('SIGNATURE_REQUIRED')
  const read = () => engine.firmware.readImage(firmware)
  const image = { sha256, signature: signature.value, alg: signature.alg, read }
  if (!(await isSignedBy(trustedKeys, image))) return refused('SIGNATURE_INVALID')
  return { kind: 'firmware', firmware: { ...firmware, signatureVerified: true } }
}

function tooLarge(
  { ota, deviceTypes }: Services,
  { bytes, type }: { readonly bytes: number; readonly type: string | undefined },
): Refusal | undefined {
  const ofType = deviceTypes.defined.get(type ?? '')?.firmwareBytesMax
  const otherwise =
    type === 'micro_ros_mcu' ? Math.min(LIMITS.firmwareMcuBytesMax, ota.uploadBytesMax) : ota.uploadBytesMax
  const limit = ofType ?? otherwise
  return bytes > limit ? refused('PAYLOAD_TOO_LARGE', { limit, actual: bytes }) : undefined
}

function otherChecksum({ sha256 }: UploadedImage, expected: string | undefined): Refusal | undefined {
  if (expected === undefined || expected.toLowerCase() === sha256) return undefined
  return refused('CHECKSUM_MISMATCH', { expected: expected.toLowerCase(), actual: sha256 })
}

/** The SHA-256 of a `Repr-Digest` header [RFC 9530], in hex. Other algorithms are ignored. */
function digestOf(header: string | undefined): string | undefined {
  const [, base64] = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]+={0,2}):/.exec(header ?? '') ?? []
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64').toString('hex')
}

const missing = (path: string) => invalid(path, { code: 'REQUIRED', message: 'is required' })
