// Reads multipart/form-data as it arrives. Fields are collected, and the first file is passed on as a stream. Only the
// fields are held in memory, and their size and number are bounded.
//
// Each piece of a body is new memory outside of V8's heap. V8 answers that with a collection of the whole heap after some
// 16 MiB, which takes most of the time of an upload. Small collections before then free the pieces for a millisecond each.

import { PassThrough, type Readable } from 'node:stream'
import { Busboy } from '@fastify/busboy'
import { exposedGc } from '../../engine/index.ts'
import { LIMITS } from '../../engine/limits.ts'
import { errorText } from '../../schemas/error-text.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'

export interface FilePart {
  readonly name: string | undefined
  /** Undefined if the part has no content type. */
  readonly type: string | undefined
}

/** The form, with the result of processing its file. */
export interface ReadForm<Result> {
  readonly kind: 'form'
  readonly fields: Readonly<Record<string, string>>
  readonly file: (FilePart & { readonly result: Result }) | undefined
}

export interface FormOptions<Result> {
  readonly contentType: string
  /** A sender that sends nothing for this long is disconnected. */
  readonly silenceMs: number
  /** Bound of the file. All other parts together may have `uploadExtraBytesMax`. */
  readonly fileBytesMax: number
  /** Field names that may contain the file. */
  readonly fileFields: readonly string[]
  /** Reads the content to its end, or rejects it by throwing. */
  readonly consume: (content: AsyncIterable<Uint8Array>) => Promise<Result>
  /** Called if the form is refused although its file was consumed. */
  readonly discard: (result: Result) => Promise<void>
  /** Called for each piece of the file with the bytes so far, and with the fields that preceded the file. */
  readonly refuse: (bytes: number, fields: Readonly<Record<string, string>>) => Refusal | undefined
}

/** Destroys the stream of a file that is no longer wanted. */
class AbandonedUpload extends Error {}

/** Reads a form. If the form is refused, the caller has to deal with the rest of the body. */
export async function readForm<Result>(
  body: Readable,
  options: FormOptions<Result>,
): Promise<ReadForm<Result> | Refusal> {
  let form: Form<Result>
  try {
    form = new Form(body, options)
  } catch {
    // The parser throws for no other reason.
    return refused('BAD_REQUEST', { message: 'the content type has no boundary' })
  }
  return form.read()
}

class Form<Result> {
  readonly #body: Readable
  readonly #options: FormOptions<Result>
  readonly #parser: InstanceType<typeof Busboy>
  readonly #types = new Map<string, string | undefined>()
  // Callers choose the names, so the object has no prototype that a name could refer to.
  readonly #fields: Record<string, string> = Object.create(null)
  readonly #collectGarbage = exposedGc()
  #parts = 0
  #bytes = 0
  #uncollectedBytes = 0
  #file: (FilePart & { readonly content: PassThrough; readonly result: Promise<Result> }) | undefined
  #finish: (refusal: Refusal | undefined) => void = () => {}

  constructor(body: Readable, options: FormOptions<Result>) {
    this.#body = body
    this.#options = options
    this.#parser = new Busboy({
      headers: { 'content-type': options.contentType },
      preservePath: true,
      limits: { fieldSize: LIMITS.uploadFieldBytesMax + 1, parts: Number.POSITIVE_INFINITY },
      isPartAFile: (field, type, filename) => {
        // For a part without a content type the parser reports `text/plain`.
        if (field !== undefined) this.#types.set(field, type === 'text/plain' ? undefined : type)
        return filename !== undefined || this.#isFileField(field)
      },
    })
  }

  async read(): Promise<ReadForm<Result> | Refusal> {
    const refusal = await this.#parse()
    const file = this.#file
    if (refusal === undefined) {
      const result = file && { name: file.name, type: file.type, result: await file.result }
      return { kind: 'form', fields: this.#fields, file: result }
    }
    file?.content.destroy(new AbandonedUpload('the upload was given up'))
    const result = await file?.result.catch((error: unknown) => {
      if (!(error instanceof AbandonedUpload)) throw error
    })
    if (result !== undefined) await this.#options.discard(result)
    return refusal
  }

  /** Resolves when the form has been read, or with the reason why it is not read to its end. */
  #parse(): Promise<Refusal | undefined> {
    const [body, parser, options] = [this.#body, this.#parser, this.#options]
    return new Promise((resolve) => {
      // A sender is only silent if the service is reading from it.
      const silence: NodeJS.Timeout = setTimeout(
        () => (body.isPaused() ? silence.refresh() : finish(tooSlow())),
        options.silenceMs,
      )
      const deadline = setTimeout(() => finish(tooSlow()), LIMITS.uploadMsMax)
      let received = 0
      const onDrain = () => {
        silence.refresh()
        body.resume()
      }
      const onData = (chunk: Uint8Array) => {
        silence.refresh()
        received += chunk.length
        if (received > options.fileBytesMax + LIMITS.uploadExtraBytesMax)
          finish(refused('PAYLOAD_TOO_LARGE', { limit: options.fileBytesMax }))
        else if (!parser.write(chunk)) body.pause()
      }
      const onEnd = () => parser.end()
      const onClose = () => {
        if (!body.readableEnded) finish(endedEarly())
      }
      const finish = (refusal: Refusal | undefined) => {
        clearTimeout(silence)
        clearTimeout(deadline)
        body.off('data', onData).off('end', onEnd).off('error', onClose).off('close', onClose)
        parser.off('drain', onDrain)
        resolve(refusal)
      }
      this.#finish = finish
      parser
        .on('file', (field, stream, filename) => this.#addFile(field, stream, filename))
        .on('field', (field, value) => this.#addField(field, value))
        .on('finish', () => finish(undefined))
        .on('drain', onDrain)
        .on('error', (error: unknown) =>
          finish(refused('BAD_REQUEST', { message: `the form cannot be read: ${errorText(error)}` })),
        )
      body.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose)
    })
  }

  #addField(field: string | undefined, value: string): void {
    if (this.#isOneTooMany()) return
    if (field === undefined) return
    if (Buffer.byteLength(value) > LIMITS.uploadFieldBytesMax) this.#finish(tooLong(field))
    else {
      this.#fields[field] = value
      this.#checkFile(0)
    }
  }

  #addFile(field: string | undefined, stream: Readable, filename: string | undefined): void {
    // The parser itself also reports a part that ends early.
    stream.on('error', () => {})
    if (this.#isOneTooMany() || this.#file !== undefined || !this.#isFileField(field)) {
      stream.resume()
      return
    }
    // The buffer of this stream is the only one between the sender and the consumer.
    const content = new PassThrough()
    // A consumer that has not started reading sees the error when it does.
    content.on('error', () => {})
    const result = this.#options.consume(content)
    // A consumer that stops early has decided or failed. The form ends, and its reader gets the consumer's result.
    const stop = () => {
      if (!content.readableEnded) this.#finish(undefined)
    }
    result.then(stop, stop)
    const type = this.#types.get(field ?? '')
    this.#file = { name: filename === '' ? undefined : filename, type, content, result }
    stream.on('data', (chunk: Uint8Array) => {
      this.#checkFile(chunk.length)
      this.#collect(chunk.length)
    })
    stream.pipe(content)
  }

  #checkFile(bytes: number): void {
    this.#bytes += bytes
    if (this.#file === undefined) return
    const refusal = this.#options.refuse(this.#bytes, this.#fields)
    if (refusal !== undefined) this.#finish(refusal)
  }

  #collect(bytes: number): void {
    this.#uncollectedBytes += bytes
    if (this.#uncollectedBytes < LIMITS.uploadCollectBytes) return
    this.#uncollectedBytes = 0
    this.#collectGarbage({ type: 'minor' })
  }

  #isOneTooMany(): boolean {
    if (++this.#parts <= LIMITS.uploadPartsMax) return false
    this.#finish(
      refused('VALIDATION_FAILED', { message: `the form has more than ${LIMITS.uploadPartsMax} parts` }),
    )
    return true
  }

  #isFileField(field: string | undefined): boolean {
    return this.#options.fileFields.some((name) => name === field)
  }
}

function tooLong(field: string): Refusal {
  const message = `must have at most ${LIMITS.uploadFieldBytesMax} bytes`
  return invalid(`/${field.slice(0, 64)}`, { code: 'TOO_LONG', message })
}

const tooSlow = () => refused('REQUEST_TIMEOUT', { message: 'the upload came to a standstill' })
const endedEarly = () => refused('BAD_REQUEST', { message: 'the body ended early' })
