// The last commands that a device was sent, and how it answered. It is on disk before a command begins, so a command that
// is delivered twice is carried out once, whatever happens in between.
import { isObject, type JsonObject } from '../../../schemas/json.ts'
import { type DeviceStorage, readJson, writeJson } from './storage.ts'

const NAME = 'commands.json'
const KEPT_MAX = 256
const INTERRUPTED: JsonObject = {
  status: 'failed',
  error: { code: 'INTERRUPTED', message: 'the device restarted while it carried the command out' },
}

/** The last answer to a command; `final` if nothing comes after it. */
export interface Answer {
  readonly ack: JsonObject
  readonly final: boolean
}

export class CommandMemory {
  readonly #storage: DeviceStorage
  readonly #answers: Map<string, Answer>
  #writing: Promise<void> = Promise.resolve()

  private constructor(storage: DeviceStorage, answers: Map<string, Answer>) {
    this.#storage = storage
    this.#answers = answers
  }

  /** A command that had begun when the process ended counts as failed. */
  static async open(storage: DeviceStorage): Promise<CommandMemory> {
    const kept = await readJson(storage, NAME)
    const answers = new Map<string, Answer>()
    for (const entry of Array.isArray(kept) ? kept : []) {
      const [id, ack]: readonly unknown[] = Array.isArray(entry) ? entry : []
      if (typeof id !== 'string') continue
      answers.set(id, { ack: isObject(ack) ? ack : { request_id: id, ...INTERRUPTED }, final: true })
    }
    return new CommandMemory(storage, answers)
  }

  find(requestId: string): Answer | undefined {
    return this.#answers.get(requestId)
  }

  /** Resolves once the command is remembered over a power cut. */
  begin(requestId: string, ack: JsonObject): Promise<void> {
    return this.#put(requestId, { ack, final: false })
  }

  end(requestId: string, ack: JsonObject): Promise<void> {
    return this.#put(requestId, { ack, final: true })
  }

  /** Between beginning and end; the disk need not know. */
  progress(requestId: string, ack: JsonObject): void {
    if (this.#answers.has(requestId)) this.#answers.set(requestId, { ack, final: false })
  }

  #put(requestId: string, answer: Answer): Promise<void> {
    this.#answers.delete(requestId)
    this.#answers.set(requestId, answer)
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= KEPT_MAX) break
      this.#answers.delete(oldest)
    }
    // One write after the other: a later one holds what an earlier one does. One that fails fails for its own caller.
    const written = this.#writing.then(() => this.#write())
    this.#writing = written.catch(() => undefined)
    return written
  }

  #write(): Promise<void> {
    const entries = [...this.#answers].map(([id, { ack, final }]) => (final ? [id, ack] : [id]))
    return writeJson(this.#storage, NAME, entries)
  }
}
