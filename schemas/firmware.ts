// Bodies of /ota/firmware.
import { type Static, Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import { choice, closed, IMMUTABLE, Instant, object, orNull, sortBy } from './json-schema.ts'
import { PAGE_QUERY, pageOf } from './page.ts'
import { FIRMWARE_STATUSES, SIGNATURE_ALGS } from './vocabulary.ts'

const VERSION = '^[A-Za-z0-9][A-Za-z0-9._+~:-]*$'
const Version = (description?: string) =>
  Type.String({
    pattern: VERSION,
    minLength: 1,
    maxLength: BODY_LIMITS.firmwareVersionCharsMax,
    examples: ['2.1.0'],
    ...(description === undefined ? {} : { description }),
  })
const Sha256 = Type.String({
  pattern: '^[0-9a-fA-F]{64}$',
  maxLength: 64,
  examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
})
const Changelog = Type.String({ maxLength: BODY_LIMITS.changelogCharsMax, examples: ['Fixes the valve.'] })

/** The fields of an upload in addition to the file. */
export const FirmwareFields = Type.Object({
  version: Version(),
  device_type: Type.String({ minLength: 1, maxLength: 64, examples: ['mqtt_device'] }),
  changelog: Type.Optional(Changelog),
  sha256: Type.Optional(Sha256),
  signature: Type.Optional(
    Type.String({ pattern: '^[A-Za-z0-9+/]+={0,2}$', maxLength: 4_096, description: 'Base64.' }),
  ),
  signature_alg: Type.Optional(
    choice(SIGNATURE_ALGS, {
      default: 'ed25519',
      description:
        '`ed25519` signs the 32 bytes of the SHA-256, the others the image: ECDSA in DER, RSA-PSS with a salt as long as its hash.',
    }),
  ),
  min_from_version: Type.Optional(Version('Older versions are not updated to this one.')),
  from_versions: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9._+~:-]*( *, *[A-Za-z0-9][A-Za-z0-9._+~:-]*)*$',
      maxLength: 8_192,
      description: 'Versions that may be updated to this one, separated by commas.',
    }),
  ),
  reports_as: Type.Optional(Version('What a device says once it runs it; the version if left out.')),
  content_type: Type.Optional(
    Type.String({
      pattern: '^[\\w.+-]{1,127}/[\\w.+-]{1,127}$',
      maxLength: 255,
      examples: ['application/octet-stream'],
    }),
  ),
})
export type FirmwareFields = Static<typeof FirmwareFields>

/** The handler reads the body as a stream. */
export const FirmwareUpload = Type.Unsafe<AsyncIterable<Uint8Array>>({
  type: 'object',
  title: 'FirmwareUpload',
  description:
    'The fields in any order. The part of the image is named `file`; `firmware` and `binary` are taken, too.',
  properties: {
    file: { type: 'string', contentMediaType: 'application/octet-stream' },
    ...FirmwareFields.properties,
  },
  required: ['file', 'version', 'device_type'],
  examples: [
    { file: '(bytes)', version: '2.1.0', device_type: 'mqtt_device', changelog: 'Fixes the valve.' },
  ],
})

export const FirmwareParams = Type.Object({
  firmware_id: Type.String({ examples: ['fw_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
})

export const FirmwareBody = object('Firmware', {
  firmware_id: FirmwareParams.properties.firmware_id,
  version: Type.String({ examples: ['2.1.0'] }),
  device_type: Type.String({ examples: ['mqtt_device'] }),
  changelog: Type.String(),
  filename: Type.String({ examples: ['firmware.bin'] }),
  size_bytes: Type.Integer({ minimum: 1, examples: [1_048_576] }),
  content_type: Type.String({ examples: ['application/octet-stream'] }),
  sha256: Sha256,
  signature: orNull(Type.String()),
  signature_alg: orNull(choice(SIGNATURE_ALGS)),
  signature_verified: orNull(Type.Boolean(), {
    description: 'Null if the service had no keys to check it with.',
  }),
  min_from_version: orNull(Type.String()),
  from_versions: Type.Array(Type.String()),
  reports_as: Type.String({ examples: ['2.1.0'] }),
  status: choice(FIRMWARE_STATUSES),
  storage: choice(['stored', 'missing'], { description: 'Whether the image is there.' }),
  deployments: Type.Object({
    active: Type.Integer({ minimum: 0 }),
    total: Type.Integer({ minimum: 0 }),
  }),
  uploaded_by: Type.String({ examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  created_at: Instant,
  updated_at: Instant,
  etag: Type.String({ examples: ['1'] }),
})
export type FirmwareBody = Static<typeof FirmwareBody>

export const EditFirmwareBody = Type.Object(
  {
    changelog: Type.Optional(Changelog),
    status: Type.Optional(
      choice(FIRMWARE_STATUSES, {
        description: 'A deprecated one is deployed by force only. A yanked one is never sent again.',
      }),
    ),
  },
  {
    title: 'EditFirmwareBody',
    additionalProperties: false,
    // Another image, or the same image for other devices, is a different firmware.
    [IMMUTABLE]: Object.keys(FirmwareBody.properties).filter(
      (name) => name !== 'changelog' && name !== 'status',
    ),
    examples: [{ status: 'deprecated' }],
  },
)

export const ForceQuery = closed({
  force: Type.Optional(
    Type.Boolean({
      description:
        'Yanking aborts the deployments that are in the way. Deleting takes the way back from devices.',
    }),
  ),
})

const SORTS = ['created_at', 'version', 'device_type', 'size_bytes', 'updated_at'] as const
export type FirmwareSort = (typeof SORTS)[number]

export const FirmwareListQuery = closed({
  ...PAGE_QUERY,
  device_type: Type.Optional(Type.String({ maxLength: 64 })),
  version: Type.Optional(Type.String({ maxLength: BODY_LIMITS.firmwareVersionCharsMax })),
  status: Type.Optional(choice(FIRMWARE_STATUSES)),
  sha256: Type.Optional(Sha256),
  sort: sortBy(SORTS, 'created_at:DESC'),
})
export const FirmwarePage = pageOf(FirmwareBody, 'FirmwarePage')

export const OtaKeys = object('OtaKeys', 'The keys that sign manifests, as a JWK Set (RFC 7517).', {
  keys: Type.Array(Type.Unsafe<object>({ type: 'object' })),
})
