// Reads multipart/form-data as it arrives: fields are kept, and the first file is handed on as a stream. Nothing is kept
// in memory but fields, whose size and number are bounded.

import { PassThrough, type Readable } from 'node:stream'
import { Busboy } from '@fastify/busboy'
import { LIMITS } from '../../engine/limits.ts'
import { errorText } from '../../schemas/error-text.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'

export interface FilePart {
  readonly name: string | undefined
  /** Undefined if the part says none. */
  readonly type: string | undefined
}

/** The form, with what the taker made of its file. */
export interface ReadForm<Taken> {
  readonly kind: 'form'
  readonly fields: Readonly<Record<string, string>>
  readonly file: (FilePart & { readonly taken: Taken }) | undefined
}

export interface FormOptions<Taken> {
  readonly contentType: string
  /** A sender that sends nothing for this long is given up. */
  readonly silenceMs: number
  /** Names under which the file may come. */
  readonly fileNames: readonly string[]
  /** Reads the content to its end, or gives it up by throwing. */
  readonly take: (content: AsyncIterable<Uint8Array>) => Promise<Taken>
  /** Asked for each piece of the file with what came so far, and with the fields that came before. */
  readonly judge: (bytes: number, fields: Readonly<Record<string, string>>) => Refusal | undefined
}

/** Thrown into a file that is not wanted any more. */
class AbandonedUpload extends Error {}

/** The rest of a body that was refused is left to the caller. */
export async function readForm<Taken>(
  body: Readable,
  options: FormOptions<Taken>,
): Promise<ReadForm<Taken> | Refusal> {
  let form: Form<Taken>
  try {
    form = new Form(body, options)
  } catch {
    // The parser throws for one reason only.
    return refused('BAD_REQUEST', { message: 'the content type has no boundary' })
  }
  return form.read()
}

class Form<Taken> {
  readonly #body: Readable
  readonly #options: FormOptions<Taken>
  readonly #parser: InstanceType<typeof Busboy>
  readonly #types = new Map<string, string | undefined>()
  // Names come from the caller: no name may mean something to JavaScript.
  readonly #fields: Record<string, string> = Object.create(null)
  #parts = 0
  #bytes = 0
  #file: (FilePart & { readonly content: PassThrough; readonly taken: Promise<Taken> }) | undefined
  #end: (refusal: Refusal | undefined) => void = () => {}

  constructor(body: Readable, options: FormOptions<Taken>) {
    this.#body = body
    this.#options = options
    this.#parser = new Busboy({
      headers: { 'content-type': options.contentType },
      preservePath: true,
      limits: { fieldSize: LIMITS.uploadFieldBytesMax + 1, parts: Number.POSITIVE_INFINITY },
      isPartAFile: (field, type, filename) => {
        // The parser says `text/plain` of a part that says nothing, too.
        if (field !== undefined) this.#types.set(field, type === 'text/plain' ? undefined : type)
        return filename !== undefined || this.#isFileName(field)
      },
    })
  }

  async read(): Promise<ReadForm<Taken> | Refusal> {
    const refusal = await this.#parse()
    const file = this.#file
    if (refusal === undefined) {
      const taken = file && { name: file.name, type: file.type, taken: await file.taken }
      return { kind: 'form', fields: this.#fields, file: taken }
    }
    file?.content.destroy(new AbandonedUpload('the upload was given up'))
    await file?.taken.catch((error: unknown) => {
      if (!(error instanceof AbandonedUpload)) throw error
    })
    return refusal
  }

  /** Resolves when the form was read, or with why it is not read any further. */
  #parse(): Promise<Refusal | undefined> {
    const [body, parser, options] = [this.#body, this.#parser, this.#options]
    return new Promise((resolve) => {
      // Only a sender that is being read can be silent.
      const silence: NodeJS.Timeout = setTimeout(
        () => (body.isPaused() ? silence.refresh() : end(tooSlow())),
        options.silenceMs,
      )
      const lateness = setTimeout(() => end(tooSlow()), LIMITS.uploadMsMax)
      const more = () => {
        silence.refresh()
        body.resume()
      }
      const push = (chunk: Uint8Array) => {
        silence.refresh()
        if (!parser.write(chunk)) body.pause()
      }
      const over = () => parser.end()
      const broken = () => {
        if (!body.readableEnded) end(brokenOff())
      }
      const end = (refusal: Refusal | undefined) => {
        clearTimeout(silence)
        clearTimeout(lateness)
        body.off('data', push).off('end', over).off('error', broken).off('close', broken)
        parser.off('drain', more)
        resolve(refusal)
      }
      this.#end = end
      parser
        .on('file', (field, stream, filename) => this.#takeFile(field, stream, filename))
        .on('field', (field, value) => this.#takeField(field, value))
        .on('finish', () => end(undefined))
        .on('drain', more)
        .on('error', (error: unknown) =>
          end(refused('BAD_REQUEST', { message: `the form cannot be read: ${errorText(error)}` })),
        )
      body.on('data', push).on('end', over).on('error', broken).on('close', broken)
    })
  }

  #takeField(field: string | undefined, value: string): void {
    if (this.#isOneTooMany()) return
    if (field === undefined) return
    if (Buffer.byteLength(value) > LIMITS.uploadFieldBytesMax) this.#end(tooLong(field))
    else {
      this.#fields[field] = value
      this.#judge(0)
    }
  }

  #takeFile(field: string | undefined, stream: Readable, filename: string | undefined): void {
    // A part that ends early is told by the parser as well.
    stream.on('error', () => {})
    if (this.#isOneTooMany() || this.#file !== undefined || !this.#isFileName(field)) {
      stream.resume()
      return
    }
    // Its buffer is the only room between the sender and the taker.
    const content = new PassThrough()
    // A taker that is not reading yet learns of its end when it does.
    content.on('error', () => {})
    const taken = this.#options.take(content)
    // A taker that stops early decides, or has failed: the form is over, and who reads it gets the outcome.
    const stop = () => {
      if (!content.readableEnded) this.#end(undefined)
    }
    taken.then(stop, stop)
    const type = this.#types.get(field ?? '')
    this.#file = { name: filename === '' ? undefined : filename, type, content, taken }
    stream.on('data', (chunk: Uint8Array) => this.#judge(chunk.length))
    stream.pipe(content)
  }

  #judge(bytes: number): void {
    this.#bytes += bytes
    if (this.#file === undefined) return
    const refusal = this.#options.judge(this.#bytes, this.#fields)
    if (refusal !== undefined) this.#end(refusal)
  }

  #isOneTooMany(): boolean {
    if (++this.#parts <= LIMITS.uploadPartsMax) return false
    this.#end(
      refused('VALIDATION_FAILED', { message: `the form has more than ${LIMITS.uploadPartsMax} parts` }),
    )
    return true
  }

  #isFileName(field: string | undefined): boolean {
    return this.#options.fileNames.some((name) => name === field)
  }
}

function tooLong(field: string): Refusal {
  const message = `must have at most ${LIMITS.uploadFieldBytesMax} bytes`
  return invalid(`/${field.slice(0, 64)}`, { code: 'TOO_LONG', message })
}

const tooSlow = () => refused('REQUEST_TIMEOUT', { message: 'the upload came to a standstill' })
const brokenOff = () => refused('BAD_REQUEST', { message: 'the body ended early' })
