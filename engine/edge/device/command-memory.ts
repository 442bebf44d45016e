// The last commands that a device received, and its answers. A command is on disk before it begins, so a command that
// is delivered twice is carried out once, whatever happens in between.
import { isObject, type JsonObject } from '../../../schemas/json.ts'
import { SerialQueue } from '../../../schemas/serial-queue.ts'
import { type DeviceStorage, readJson, writeJson } from './storage.ts'

const NAME = 'commands.json'
const KEPT_MAX = 256
/** Marks a stored answer that the service may not have yet. */
const OWED = 'owed'
const INTERRUPTED: JsonObject = {
  status: 'failed',
  error: { code: 'INTERRUPTED', message: 'the device restarted while it carried the command out' },
}

/** The last answer to a command; `final` if nothing comes after it. */
export interface Answer {
  readonly ack: JsonObject
  readonly final: boolean
  /** True for a final answer that the service may not have yet. */
  readonly isOwed: boolean
}

export class CommandMemory {
  readonly #storage: DeviceStorage
  readonly #answers: Map<string, Answer>
  readonly #writes = new SerialQueue()

  private constructor(storage: DeviceStorage, answers: Map<string, Answer>) {
    this.#storage = storage
    this.#answers = answers
  }

  /** A command that was running when the process ended counts as failed. */
  static async open(storage: DeviceStorage): Promise<CommandMemory> {
    const kept = await readJson(storage, NAME)
    const answers = new Map<string, Answer>()
    for (const entry of Array.isArray(kept) ? kept : []) {
      const [id, ack, owed]: readonly unknown[] = Array.isArray(entry) ? entry : []
      if (typeof id !== 'string') continue
      const isEnded = isObject(ack)
      answers.set(id, {
        ack: isEnded ? ack : { request_id: id, ...INTERRUPTED },
        final: true,
        isOwed: !isEnded || owed === OWED,
      })
    }
    return new CommandMemory(storage, answers)
  }

  find(requestId: string): Answer | undefined {
    return this.#answers.get(requestId)
  }

  /** The final answers that the service may not have yet, oldest first. */
  owed(): readonly JsonObject[] {
    return [...this.#answers.values()].flatMap(({ ack, isOwed }) => (isOwed ? [ack] : []))
  }

  /** Notes that the service has this answer. The disk learns it with the next command. */
  told(requestId: string, ack: JsonObject): void {
    const answer = this.#answers.get(requestId)
    if (answer?.ack === ack) this.#answers.set(requestId, { ...answer, isOwed: false })
  }

  /** Resolves once the command would survive a power cut. Rejects if it cannot be stored: then it has not begun. */
  async begin(requestId: string, ack: JsonObject): Promise<void> {
    try {
      await this.#put(requestId, { ack, final: false, isOwed: false })
    } catch (error) {
      this.#answers.delete(requestId)
      throw error
    }
  }

  end(requestId: string, ack: JsonObject): Promise<void> {
    return this.#put(requestId, { ack, final: true, isOwed: true })
  }

  /** Stores progress in memory only: the disk does not need it. */
  progress(requestId: string, ack: JsonObject): void {
    if (this.#answers.has(requestId)) this.#answers.set(requestId, { ack, final: false, isOwed: false })
  }

  #put(requestId: string, answer: Answer): Promise<void> {
    this.#answers.delete(requestId)
    this.#answers.set(requestId, answer)
    this.#makeRoom()
    // Writes run one after the other, and each has everything of the earlier ones. A failure is reported to its own caller only.
    return this.#writes.run(() => this.#write())
  }

  /** A command that has not ended stays: delivered again, it would begin a second time. The service bounds their number. */
  #makeRoom(): void {
    let surplus = [...this.#answers.values()].filter(({ final }) => final).length - KEPT_MAX
    for (const [id, { final }] of this.#answers) {
      if (surplus <= 0) return
      if (!final) continue
      this.#answers.delete(id)
      surplus--
    }
  }

  #write(): Promise<void> {
    const entries = [...this.#answers].map(([id, { ack, final, isOwed }]) =>
      final ? [id, ack, ...(isOwed ? [OWED] : [])] : [id],
    )
    return writeJson(this.#storage, NAME, entries)
  }
}
