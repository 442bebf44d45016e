// Creates firmware messages and examines how the device responds to them.
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { JsonObject } from '../../../../schemas/json.ts'
import { isSameVersion } from '../../../../schemas/same-version.ts'
import { UnmetCheck } from '../verdict.ts'
import type { Bench } from './bench.ts'
import type { ServedImage } from './downloads.ts'
import { type PublishedMessage, toEvidence } from './recording.ts'

export interface Order {
  readonly message: JsonObject
  readonly deploymentId: string
  readonly version: string
  /** The name of the image on the download server. */
  readonly image: string
}

export interface OrderOptions {
  readonly version: string
  readonly serving?: Partial<ServedImage>
  /** Fields that replace those of a correct message. */
  readonly fields?: JsonObject
  /** Claims that replace those of a correct manifest. */
  readonly claims?: JsonObject
}

const IMAGE_BYTES = 64 * 1024
const LIFE_MS = 3_600_000
const UPDATED_MS = 120_000
const SETTLED_MS = 10_000

/** Creates an image that contains its version, as the image of a real device would. */
export function imageOf(version: string): Buffer {
  return Buffer.concat([Buffer.from(`version ${version}\n`), randomBytes(IMAGE_BYTES)])
}

/** Serves the image and creates the message that offers it. */
export function makeOrder(bench: Bench, { version, serving, fields, claims }: OrderOptions): Order {
  const bytes = serving?.bytes ?? imageOf(version)
  const hash = createHash('sha256').update(bytes).digest('hex')
  const image = `${randomUUID()}.bin`
  bench.downloads.serve(image, { bytes, etag: `"sha256-${hash}"`, ...serving })
  const deploymentId = `dep_${randomUUID()}`
  const now = Date.now()
  const message: JsonObject = {
    ...{ deployment_id: deploymentId, request_id: deploymentId, attempt: 1, seq: bench.nextSeq() },
    ...{ action: 'install', version, reports_as: version, device_type: bench.device.deviceType },
    ...{ url: bench.downloadUrl(image), checksum: `sha256:${hash}`, sha256: hash, size_bytes: bytes.length },
    ...{ filename: 'firmware.bin', content_type: 'application/octet-stream' },
    ...{ local_ok: false, force: false, not_after: null },
    ...{ issued_at: new Date(now).toISOString(), expires_at: new Date(now + LIFE_MS).toISOString() },
    ...fields,
  }
  return {
    message: { ...message, manifest: manifestOf(bench, message, claims) },
    deploymentId,
    version,
    image,
  }
}

function manifestOf(bench: Bench, message: JsonObject, claims: JsonObject = {}): string {
  const seconds = (time: unknown) => Math.floor(Date.parse(String(time)) / 1_000)
  const { deployment_id: dep = '', attempt = 1, seq = 0, action: act = '', version: ver = '' } = message
  const { device_type: typ = '', sha256 = '', size_bytes: size = 0 } = message
  return bench.key.sign({
    ...{ sub: bench.device.deviceId, dep, attempt, seq, act, ver, typ, sha256, size },
    ...{ iat: seconds(message['issued_at']), exp: seconds(message['expires_at']), ...claims },
  })
}

export async function offer(bench: Bench, order: Order): Promise<void> {
  await bench.broker.send('ota', order.message)
}

/** Returns the reports about the order, oldest first. */
export function reportsOf({ broker }: Bench, { deploymentId }: Order): readonly PublishedMessage[] {
  return broker.published('ota/status').filter(({ body }) => body?.['deployment_id'] === deploymentId)
}

export function reportWith(
  bench: Bench,
  order: Order,
  ...words: readonly string[]
): PublishedMessage | undefined {
  return reportsOf(bench, order).find(({ body }) => words.includes(String(body?.['status']).toLowerCase()))
}

/** Returns the version that the device reported last over its current connection. */
function runningVersion({ broker }: Bench): string | undefined {
  const versions = broker.published('status').flatMap(({ body, at }) => {
    const version = body?.['firmware_version']
    return typeof version === 'string' && at >= (broker.current?.openedAt ?? 0) ? [version] : []
  })
  return versions.at(-1)
}

export async function knownVersion(bench: Bench): Promise<string> {
  await bench.ready()
  return bench.until('firmware_version on status', () => runningVersion(bench), 30_000)
}

/** Resolves once the device runs the version, over a connection that began after the order was created. */
export async function untilInstalled(bench: Bench, order: Order, withinMs = UPDATED_MS): Promise<void> {
  const isDone = () => {
    const refused = reportWith(bench, order, 'failed', 'rejected')
    if (refused !== undefined)
      throw new UnmetCheck(`it did not install version ${order.version}`, toEvidence(refused))
    const version = runningVersion(bench)
    return version !== undefined && isSameVersion(version, order.version)
  }
  await bench.until(`firmware_version ${order.version} on status after a restart`, isDone, withinMs)
  const since = Date.parse(String(order.message['issued_at']))
  if ((bench.broker.current?.openedAt ?? 0) < since)
    throw new UnmetCheck('it reports the new version without a new connection')
}

/** Checks that the device does not install the order. The device may refuse it or ignore it for `quietMs`. */
export async function expectRefusal(
  bench: Bench,
  order: Order,
  about: { readonly quietMs: number },
): Promise<void> {
  const before = await knownVersion(bench)
  await offer(bench, order)
  const isOver = () => reportWith(bench, order, 'failed', 'rejected', 'installing', 'rebooting', 'succeeded')
  await bench.observe(isOver, about.quietMs)
  const wrong = reportWith(bench, order, 'installing', 'rebooting', 'succeeded')
  if (wrong !== undefined) {
    // Lets the installation end, so that the next check finds the device idle.
    await untilInstalled(bench, order, SETTLED_MS).catch(() => undefined)
    throw new UnmetCheck('it installs an update that it should refuse', toEvidence(wrong))
  }
  const after = await knownVersion(bench)
  if (!isSameVersion(before, after)) throw new UnmetCheck(`it runs ${after} now, and ran ${before} before`)
}
