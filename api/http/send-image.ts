// Answers with an image or a part of it: conditional requests, ranges and HEAD as in RFC 9110.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { parseByteRange } from '../../engine/domain/ota/byte-range.ts'
import type { FirmwareLibrary, FirmwareRecord } from '../../engine/ports/ota.ts'
import { API_LIMITS } from '../limits.ts'
import { refused } from '../refusal.ts'
import type { Downloads, Reader } from './downloads.ts'
import { isFresh } from './etag.ts'
import { dispositionOf, etagOf, imageHeaders, isSameImage } from './image-headers.ts'
import { sendProblem } from './problems.ts'

export interface ImageAnswer {
  readonly record: FirmwareRecord
  readonly cacheControl: string
  readonly reader: Reader
  /** When a reader that was sent away should retry. */
  readonly retryAfterSec: number
  /** Whether the reader may be redirected to where the image is stored. */
  readonly mayRedirect?: boolean
  /** Called if the reader is sent away because it cannot download the image now, which is not its own failure. */
  readonly onRefused?: () => void
  /** Called if the image is missing or does not match the record. */
  readonly onMissing: () => void
}

export interface ImageTools {
  readonly firmware: Pick<FirmwareLibrary, 'openImage' | 'imageAddress'>
  readonly downloads: Downloads
}

export async function sendImage(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  answer: ImageAnswer,
  { firmware, downloads }: ImageTools,
): Promise<FastifyReply> {
  const { record, reader } = answer
  const { headers, method } = request
  const { sizeBytes: size } = record
  const fileHeaders = imageHeaders(record, answer.cacheControl)
  if (isFresh(headers['if-none-match'], etagOf(record))) return reply.code(304).headers(fileHeaders).send()
  if (answer.mayRedirect === true && method === 'GET') {
    const sent = await notifyOnError(redirect({ request, reply }, answer, { firmware, downloads }), answer)
    if (sent !== undefined) return sent
  }
  const wanted =
    method === 'GET' && isSameImage(textOf(headers['if-range']), record) ? headers.range : undefined
  const range = parseByteRange(wanted, size)
  if (range.kind === 'unsatisfiable') {
    reply.header('content-range', `bytes */${size}`)
    return sendProblem(request, reply, refused('RANGE_NOT_SATISFIABLE'))
  }
  const [from, to] = range.kind === 'part' ? [range.from, range.to] : [0, size]
  const part = range.kind === 'part' ? { 'content-range': `bytes ${from}-${to - 1}/${size}` } : {}
  const head = { ...fileHeaders, ...part, 'content-length': String(to - from) }
  const status = range.kind === 'part' ? 206 : 200
  if (method === 'HEAD') {
    writeHead(reply, status, head)
    reply.raw.end()
    return reply
  }
  const entry = await downloads.enter(reader.name, answer.retryAfterSec)
  if (entry.kind === 'refused') {
    answer.onRefused?.()
    return sendProblem(request, reply, entry)
  }
  const opened = await notifyOnError(firmware.openImage(record, { from, to }), answer).catch(
    (error: unknown) => {
      downloads.leave(entry)
      throw error
    },
  )
  if (opened.kind === 'missing') {
    downloads.leave(entry)
    return sendMissing({ request, reply }, answer, downloads)
  }
  writeHead(reply, status, head)
  await downloads.send(reader, opened.blob, { response: reply.raw, bytes: to - from, entry })
  return reply
}

/** Redirects the reader to where the image is stored, whatever range it wants: it requests the range there. Undefined if
 *  the image is only available here. */
async function redirect(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  answer: ImageAnswer,
  { firmware, downloads }: ImageTools,
): Promise<FastifyReply | undefined> {
  const { record, reader } = answer
  const address = await firmware.imageAddress(record, {
    seconds: API_LIMITS.imageAddressSec,
    contentType: record.contentType,
    contentDisposition: dispositionOf(record),
  })
  if (address === undefined) return undefined
  if (address.kind === 'missing') return sendMissing({ request, reply }, answer, downloads)
  // The download itself is not visible here. This is as close to its start as can be known.
  reader.onStarted()
  // Not cached, so that a download that was withdrawn meanwhile is refused here.
  return reply.code(307).headers({ location: address.url, 'cache-control': 'no-store' }).send()
}

function sendMissing(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  answer: ImageAnswer,
  downloads: Downloads,
): FastifyReply {
  downloads.count('missing')
  answer.onMissing()
  answer.onRefused?.()
  return sendProblem(
    request,
    reply,
    refused('DEPENDENCY_UNAVAILABLE', {
      message: 'the image is missing',
      dependency: 'blobs',
      retry_after_sec: API_LIMITS.retryAfterSec,
    }),
  )
}

/** The image store may be unavailable for a while. A reader that gets a 503 for this counts as sent away. */
async function notifyOnError<T>(work: Promise<T>, answer: Pick<ImageAnswer, 'onRefused'>): Promise<T> {
  try {
    return await work
  } catch (error) {
    answer.onRefused?.()
    throw error
  }
}

/** Sets the status and headers, which are sent with the first piece. Fastify leaves the rest of the answer to this file. */
function writeHead(reply: FastifyReply, status: number, headers: Readonly<Record<string, string>>): void {
  reply.hijack()
  for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...headers }))
    if (value !== undefined) reply.raw.setHeader(name, value)
  reply.raw.statusCode = status
}

const textOf = (header: string | string[] | undefined) => (Array.isArray(header) ? header.join(', ') : header)
