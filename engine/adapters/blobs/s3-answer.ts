// Sends a signed request by Node's own HTTP client: the streams of fetch take several times the CPU per byte of an image.
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'

export interface SignedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Resolves with the head of the answer. The body is still to be read. */
export function sendRequest(signed: SignedRequest, body: Uint8Array): Promise<IncomingMessage> {
  const url = new URL(signed.url)
  const send = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const headers = { ...signed.headers, 'content-length': String(body.length) }
    const request = send(url, { method: signed.method, headers }, (answer) => {
      // An error surfaces when the body is read.
      answer.on('error', () => undefined)
      resolve(answer)
    })
    request.once('error', (cause) => reject(unavailable(true, 'it does not answer', cause)))
    // Bounds only the time until the head of the answer. A reader of the body may take its time.
    const timer = setTimeout(() => request.destroy(new Error('the time is over')), LIMITS.blobTimeoutMs)
    request.once('close', () => clearTimeout(timer)).once('response', () => clearTimeout(timer))
    request.end(body)
  })
}

export async function readText(answer: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  for (let chunk = await nextChunk(answer); chunk !== undefined; chunk = await nextChunk(answer))
    chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** The next chunk of the body. Undefined at its end. A service that goes silent in the middle is a fault, as at the
 *  beginning. */
async function nextChunk(answer: IncomingMessage): Promise<Uint8Array | undefined> {
  for (;;) {
    if (answer.errored !== null) throw unavailable(true, 'the connection broke', answer.errored)
    const chunk: Uint8Array | null = answer.read()
    if (chunk !== null) return chunk
    if (answer.readableEnded) return undefined
    if (answer.destroyed) throw unavailable(true, 'the connection broke')
    await nextEvent(answer)
  }
}

const CHANGES = ['readable', 'end', 'error', 'close'] as const

function nextEvent(answer: IncomingMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      for (const name of CHANGES) answer.off(name, settle)
    }
    const settle = () => {
      stop()
      resolve()
    }
    const timer = setTimeout(() => {
      stop()
      answer.destroy()
      reject(unavailable(true, 'it went silent'))
    }, LIMITS.blobTimeoutMs)
    for (const name of CHANGES) answer.once(name, settle)
  })
}

export function unavailable(retryable: boolean, problem: string, cause?: unknown): Fault {
  return new Fault('BLOBS_UNAVAILABLE', {
    retryable,
    message: `the S3 service cannot be used: ${problem}`,
    cause,
  })
}
