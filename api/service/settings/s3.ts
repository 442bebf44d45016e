// The settings of the S3 service that keeps firmware images.
import type { Name } from './names.ts'
import type { Reader } from './reader.ts'

export interface S3Settings {
  /** The address of the service, without the bucket. */
  readonly url: string
  readonly bucket: string
  readonly region: string
  readonly accessKey: string
  readonly secretKey: string
}

const REGION_DEFAULT = 'us-east-1'
const NEEDED = ['FLEET_S3_BUCKET', 'FLEET_S3_ACCESS_KEY', 'FLEET_S3_SECRET_KEY'] as const

/** Undefined without `FLEET_S3_URL`. The other S3 settings are refused then, because they would have no effect. */
export function readS3(reader: Reader): S3Settings | undefined {
  const url = reader.url('FLEET_S3_URL', ['http', 'https'], 'https://s3.eu-central-1.amazonaws.com')
  const bucket = reader.matching(
    'FLEET_S3_BUCKET',
    /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
    'the name of a bucket',
  )
  const region = reader.matching('FLEET_S3_REGION', /^[a-z0-9-]{1,64}$/, 'a region such as eu-central-1')
  if (url === undefined) {
    const others: readonly Name[] = [...NEEDED, 'FLEET_S3_REGION']
    const stray = others.find((name) => reader.text(name) !== undefined)
    if (stray !== undefined) reader.refuse(stray, 'has no effect without FLEET_S3_URL; set both or neither')
    return undefined
  }
  const missing = NEEDED.filter((name) => reader.text(name) === undefined)
  const [first, ...more] = missing
  if (first !== undefined)
    reader.refuse(
      first,
      `is required with FLEET_S3_URL${more.length === 0 ? '' : `; also required: ${more.join(', ')}`}`,
    )
  return {
    url,
    bucket: bucket ?? '',
    region: region ?? REGION_DEFAULT,
    accessKey: reader.text('FLEET_S3_ACCESS_KEY') ?? '',
    secretKey: reader.text('FLEET_S3_SECRET_KEY') ?? '',
  }
}
