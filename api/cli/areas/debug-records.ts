// What `fleet debug` can only read as lists: refusals in the audit, dead letters and open commands. Each read prints what is
// new since the one before.
import { RefusalError } from '../../../schemas/client.ts'
import type { CommandStatus } from '../../../schemas/vocabulary.ts'
import type { Cli, Connection } from '../cli.ts'
import type { Pages } from '../paged.ts'

/** One line of output. */
export interface DebugLine {
  readonly at: string
  readonly what: 'connect' | 'refused' | 'dead_letter' | 'command' | 'telemetry' | 'event' | 'log'
  readonly about: string
  readonly data: unknown
}

/** Entries of each kind that the first read prints. */
const RECENT = 10
/** Far more entries than can appear between two reads, as at most ten dead letters a second are kept for a device. */
const PAGE_SIZE = 200
/** Pages that the first read searches for refusals, which may be far behind those of messages. */
const PAGES_MAX = 5
const OPEN: CommandStatus[] = ['pending', 'delivered', 'acked']
/** Entries remembered as shown: many times what a read returns. */
const SHOWN_MAX = 10_000

/** A line, and what identifies it. */
type KeyedLine = readonly [string, DebugLine]

export class DebugRecords {
  readonly #cli: Cli
  readonly #connection: Connection
  readonly #deviceId: string
  readonly #shown = new Set<string>()
  #isFirst = true
  /** False once the caller has turned out not to be an admin. */
  #mayAudit = true

  constructor(cli: Cli, connection: Connection, deviceId: string) {
    this.#cli = cli
    this.#connection = connection
    this.#deviceId = deviceId
  }

  /** Prints what is new since the last read, oldest first. */
  async printNew(): Promise<void> {
    const kinds = await Promise.all([this.#refusals(), this.#letters(), this.#commands()])
    const fresh = kinds.flatMap((lines) => this.#remember(lines))
    this.#isFirst = false
    for (const [, line] of fresh.sort(([, a], [, b]) => a.at.localeCompare(b.at))) printLine(this.#cli, line)
    for (const oldest of this.#shown) {
      if (this.#shown.size <= SHOWN_MAX) break
      this.#shown.delete(oldest)
    }
  }

  /** Those that were not remembered before, or the newest of them if this is the first read. */
  #remember(lines: readonly KeyedLine[]): readonly KeyedLine[] {
    const fresh = lines.filter(([key]) => !this.#shown.has(key))
    for (const [key] of fresh) this.#shown.add(key)
    return this.#isFirst ? fresh.slice(0, RECENT) : fresh
  }

  async #refusals(): Promise<readonly KeyedLine[]> {
    if (!this.#mayAudit) return []
    const query = { device_id: this.#deviceId, outcome: 'refused', limit: PAGE_SIZE } as const
    const pages = this.#connection.client.pages.listAudit({ query })
    try {
      // A refused message is also a dead letter, which has more details.
      const refused = await this.#newest(pages, ({ action }) => action !== 'mqtt.message')
      return refused.map(({ at, action, code, detail, ip, count }) => {
        const reason = Reflect.get(Object(detail), 'reason')
        const about = [action, code, reason, ip, (count ?? 1) > 1 ? `${count} times` : undefined]
        return [
          `audit ${at} ${action} ${code}`,
          { at, what: 'refused', about: joined(about), data: { action, code, detail, ip } },
        ]
      })
    } catch (error) {
      if (!(error instanceof RefusalError) || error.status !== 403) throw error
      this.#mayAudit = false
      this.#cli.output.note('refused connects are in the audit, which only an admin may read')
      return []
    }
  }

  /** The wanted entries of the newest page, and at the first read of as many pages as it takes to find some. */
  async #newest<Item>(pages: Pages<Item>, isWanted: (item: Item) => boolean): Promise<readonly Item[]> {
    const found: Item[] = []
    let read = 0
    for await (const { data } of pages) {
      found.push(...data.filter(isWanted))
      if (!this.#isFirst || found.length >= RECENT || ++read >= PAGES_MAX) break
    }
    return found
  }

  async #letters(): Promise<readonly KeyedLine[]> {
    const query = { device_id: this.#deviceId, per_page: PAGE_SIZE }
    const page = await this.#connection.client.listDeadLetters({ query })
    return page.data.map((letter) => {
      const { id, received_at: at, topic, reason, detail, advice } = letter
      const about = `${topic}: ${reason}, ${detail}; advice: ${advice}`
      return [id, { at, what: 'dead_letter', about, data: letter }]
    })
  }

  async #commands(): Promise<readonly KeyedLine[]> {
    const query = { status: OPEN, per_page: PAGE_SIZE }
    const page = await this.#connection.client.listCommands({ device_id: this.#deviceId, query })
    return page.data.map((command) => {
      const { command_id: id, command: name, status, created_at: at } = command
      return [`${id} ${status}`, { at, what: 'command', about: `${name} ${status} ${id}`, data: command }]
    })
  }
}

export function printLine(cli: Cli, line: DebugLine): void {
  cli.output.event(line, () => [line.at, line.what, line.about])
}

function joined(parts: readonly unknown[]): string {
  return parts.filter((part) => part !== undefined && part !== null && part !== '').join(', ')
}
