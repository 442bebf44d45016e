// The download links of devices. They are outside of the API and need no login and no database: a link contains all that is
// needed, and its signature proves that this service issued it. The device's actor is asked once for each job, because the
// job may have been cancelled before this node started.
import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../engine/ports/clock.ts'
import type { FirmwareLibrary, Link } from '../../engine/ports/ota.ts'
import { FirmwareId } from '../../schemas/ids.ts'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'
import type { Downloads } from './downloads.ts'
import { sendProblem } from './problems.ts'
import { sendImage } from './send-image.ts'

export interface ArtifactsTools {
  readonly firmware: FirmwareLibrary
  readonly downloads: Downloads
  readonly clock: Pick<Clock, 'now'>
  /** If true, devices are redirected to where an image is stored, provided they can download it there. */
  readonly redirects: boolean
}

const PATH = '/ota/artifacts/:firmware_id/:filename'
/** The codes stand for a conflict elsewhere. On a download link they mean that the image is gone. */
const GONE = 410

export function serveArtifacts(app: FastifyInstance, tools: ArtifactsTools): void {
  const { firmware, downloads, clock } = tools
  app.get(PATH, async (request, reply) => {
    await firmware.ready()
    // The router has matched the path.
    const { firmware_id: id } = request.params as { readonly firmware_id: string }
    const link = firmware.readLink(id, textsOf(request.query))
    if (link === undefined) return deny({ request, reply }, refused('URL_INVALID'))
    const restSec = Math.floor((link.expiresAt - clock.now()) / 1_000)
    if (restSec <= 0) return deny({ request, reply }, refused('URL_EXPIRED'))
    await firmware.downloads.untilKnown(link)
    const withdrawal = withdrawalOf(link)
    const record = firmware.get(link.firmwareId)
    if (withdrawal !== undefined || record === undefined)
      return deny({ request, reply }, withdrawal ?? refused('DOWNLOAD_WITHDRAWN'), GONE)
    return sendImage(
      { request, reply },
      {
        record,
        cacheControl: `private, max-age=${restSec}, immutable, no-transform`,
        reader: {
          name: `${link.deploymentId}/${link.deviceId}`,
          isWithdrawn: () => withdrawalOf(link) !== undefined,
          onStarted: () => firmware.downloads.began(link),
          onSent: (bytes) => firmware.downloads.sent(link, bytes),
        },
        retryAfterSec: spread(link.deviceId),
        mayRedirect: tools.redirects,
        onRefused: () => firmware.downloads.refused(link),
        onMissing: () => firmware.downloads.imageMissing(record.id),
      },
      tools,
    )
  })

  function deny(
    { request, reply }: { request: FastifyRequest; reply: FastifyReply },
    refusal: Refusal,
    status?: number,
  ): FastifyReply {
    downloads.count(refusal.code.toLowerCase())
    return sendProblem(request, reply, refusal, status)
  }

  /** A yanked firmware is reported as yanked, whatever happened to its deployments. */
  function withdrawalOf(link: Link): Refusal | undefined {
    const record = firmware.get(FirmwareId(link.firmwareId))
    if (record?.status === 'yanked') return refused('FIRMWARE_YANKED')
    if (record === undefined || firmware.downloads.isWithdrawn(link)) return refused('DOWNLOAD_WITHDRAWN')
    return undefined
  }
}

/** Ignores parameters that occur twice. */
function textsOf(query: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(Object(query)).filter(isText))
}
const isText = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === 'string'

/** Spreads the retries of devices that were sent away at the same time. */
function spread(deviceId: string): number {
  const { downloadRetrySecMin: min, downloadRetrySecMax: max } = API_LIMITS
  return min + (createHash('sha256').update(deviceId).digest().readUInt16BE(0) % (max - min + 1))
}
