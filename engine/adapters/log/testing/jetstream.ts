// For tests: logs on a nats-server, which are closed with their connections after each test.
import { expect } from 'vitest'
import { Micros } from '../../../../schemas/ids.ts'
import type { Entry, Log, LogReader } from '../../../ports/log.ts'
import { type NatsLink, type NatsOptions, openNats } from '../../nats/nats-link.ts'
import { type JetStreamLogOptions, openJetStreamLog } from '../jetstream/jetstream.ts'
import { bundle, show } from './contract.ts'

const DEADLINE_MS = 60_000

export class JetStreamBench {
  readonly #links: NatsLink[] = []
  readonly #logs: Log[] = []
  #count = 0

  /** A unique name for a log. */
  newName(): string {
    return `log${this.#count++}`
  }

  async link(url: string | readonly string[], options: Partial<NatsOptions> = {}): Promise<NatsLink> {
    const link = await openNats({ servers: [url].flat(), durability: 'process', warn: () => {}, ...options })
    this.#links.push(link)
    return link
  }

  async open(link: NatsLink, options: Partial<JetStreamLogOptions> = {}): Promise<Log> {
    const log = await openJetStreamLog(link, {
      name: this.newName(),
      replicas: 1,
      bytesMax: 200_000_000,
      trimEveryMs: 0,
      ...options,
    })
    this.#logs.push(log)
    return log
  }

  async clear(): Promise<void> {
    for (const log of this.#logs.splice(0)) await log.close()
    for (const link of this.#links.splice(0)) await link.close()
  }
}

/** Reads until there are this many texts, however long that takes. */
export async function readTexts(reader: LogReader, count: number): Promise<readonly string[]> {
  const entries: Entry[] = []
  while (show(entries).length < count) entries.push(...((await reader.pull(1e6)) ?? []))
  return show(entries)
}

export async function until(condition: () => boolean): Promise<void> {
  await expect.poll(condition, { timeout: DEADLINE_MS, interval: 20 }).toBe(true)
}

/** Appends numbers until told to stop. Resolves with the acknowledged ones. */
export function load(log: Log): { readonly acknowledged: number[]; stop(): Promise<void> } {
  const acknowledged: number[] = []
  let isOver = false
  const running = (async () => {
    for (let i = 0; !isOver; ) {
      try {
        await log.append([bundle(1, `${i}`), bundle(2, `${i}`)], Micros(1))
        acknowledged.push(i++)
      } catch (error) {
        // Nothing was stored, so the same number is appended again.
        expect(error).toMatchObject({ retryable: true })
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  })()
  return {
    acknowledged,
    stop: () => {
      isOver = true
      return running
    },
  }
}

/** The numbers that a reader of one partition finds. */
export const numbers = (partition: number, count: number) =>
  Array.from({ length: count }, (_, i) => `${partition}=${i}`)

/** Reads until the reader is closed. */
export function follow(reader: LogReader): {
  readonly seen: readonly string[]
  readonly done: Promise<void>
} {
  const seen: string[] = []
  const done = (async () => {
    for (;;) {
      const entries = await reader.pull(1e6)
      if (entries === undefined) return
      seen.push(...show(entries))
    }
  })()
  return { seen, done }
}
