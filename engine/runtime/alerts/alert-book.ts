// The rules and silences that this node knows, in memory: those that the leader has written, and those that device types
// bring. Whenever they change, this node's shards are told (A4).
import type { RuleId } from '../../../schemas/ids.ts'
import type { Rule } from '../../domain/alert/rule.ts'
import type { AlertSettings } from '../../domain/alert/rule-book.ts'
import type { Silence } from '../../domain/alert/silence.ts'
import { withSavedChanges } from '../../domain/alert/type-rules.ts'
import { newPackr } from '../../domain/packing.ts'
import { LIMITS } from '../../limits.ts'
import type { Documents } from '../../ports/documents.ts'
import type { Schedule } from '../../ports/schedule.ts'

export const RULES = 'alert-rules'
export const SILENCES = 'alert-silences'

export interface AlertBookPorts {
  readonly documents: Documents
  readonly schedule: Pick<Schedule, 'sleep'>
  /** The rules of the device types. */
  readonly typeRules: readonly Rule[]
  /** Tells the shards. */
  readonly publish: (settings: AlertSettings) => void
  readonly failed: (error: unknown) => void
}

const packr = newPackr()

export class AlertBook {
  readonly #ports: AlertBookPorts
  readonly #rules = new Map<string, Rule>()
  readonly #silences = new Map<string, Silence>()
  #settings: AlertSettings = { revision: 0, rules: [], silences: [] }
  #reading: Promise<void> = Promise.resolve()
  #stop: (() => void) | undefined
  #isClosed = false

  constructor(ports: AlertBookPorts) {
    this.#ports = ports
  }

  get settings(): AlertSettings {
    return this.#settings
  }

  async open(): Promise<void> {
    this.#stop = this.#ports.documents.onWritten((collection, id) =>
      collection === undefined || collection === RULES || collection === SILENCES
        ? this.refresh(collection, id)
        : undefined,
    )
    await this.refresh()
  }

  close(): void {
    this.#isClosed = true
    this.#stop?.()
  }

  rule(id: RuleId): Rule | undefined {
    return this.#settings.rules.find((rule) => rule.rule_id === id)
  }

  /** Resolves once what is written now takes effect on this node. Reads one document, or all without `id`. */
  refresh(collection?: string, id?: string): Promise<void> {
    this.#reading = this.#reading.then(() => this.#read(collection, id))
    return this.#reading
  }

  async #read(collection: string | undefined, id: string | undefined): Promise<void> {
    const { failed, schedule } = this.#ports
    while (!this.#isClosed) {
      try {
        await this.#readOnce(collection, id)
        this.#publish()
        return
      } catch (error) {
        // Until the read succeeds, shards keep what they have.
        failed(error)
        await schedule.sleep(LIMITS.dutyRetryMs)
      }
    }
  }

  async #readOnce(collection: string | undefined, id: string | undefined): Promise<void> {
    const { documents } = this.#ports
    if (collection !== undefined && id !== undefined) {
      const bytes = await documents.read(collection, id)
      this.#take(collection, id, bytes)
      return
    }
    const [rules, silences] = await Promise.all([documents.list(RULES), documents.list(SILENCES)])
    this.#rules.clear()
    this.#silences.clear()
    for (const { id: each, bytes } of rules) this.#take(RULES, each, bytes)
    for (const { id: each, bytes } of silences) this.#take(SILENCES, each, bytes)
  }

  #take(collection: string, id: string, bytes: Uint8Array | undefined): void {
    const into: Map<string, unknown> = collection === RULES ? this.#rules : this.#silences
    if (bytes === undefined) into.delete(id)
    // Written by `packDocument`.
    else into.set(id, packr.unpack(bytes))
  }

  #publish(): void {
    const own = [...this.#rules.values()].filter(({ source }) => source === 'api')
    const ofTypes = this.#ports.typeRules.map((rule) => {
      const kept = this.#rules.get(rule.rule_id)
      return kept === undefined ? rule : withSavedChanges(rule, kept)
    })
    const age = (a: Rule, b: Rule) =>
      a.created_at < b.created_at ? -1 : a.created_at > b.created_at ? 1 : a.rule_id < b.rule_id ? -1 : 1
    this.#settings = {
      revision: this.#settings.revision + 1,
      rules: [...ofTypes, ...own].sort(age),
      silences: [...this.#silences.values()],
    }
    this.#ports.publish(this.#settings)
  }
}

export function packDocument(document: Rule | Silence): Uint8Array {
  return Uint8Array.from(packr.pack(document))
}
