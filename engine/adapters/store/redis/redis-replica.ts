// A process's in-memory copy of the store in Redis: loaded once, then updated by the messages of writes.

import { type DeviceId, Partition } from '../../../../schemas/ids.ts'
import type { DeviceRecord } from '../../../domain/device/record.ts'
import { newPackr } from '../../../domain/packing.ts'
import type { NoticeCounts } from '../../../ports/notices.ts'
import type { LateHour, OutboxCounts } from '../../../ports/store.ts'
import type { FollowedStream } from '../../redis/redis-follower.ts'
import { pairs, unpackLists } from '../../redis/redis-lists.ts'
import { DocumentListeners } from '../document-listeners.ts'
import { type PartitionOf, SavedState } from '../saved-state.ts'

/** The commands that loading needs. */
type Reader = Parameters<FollowedStream['load']>[0]

interface Waiter {
  readonly revision: number
  readonly settle: (hasArrived: boolean) => void
}

const SCAN_COUNT = 1_000
const packr = newPackr()

export class RedisReplica implements FollowedStream {
  readonly stream = 'store'
  readonly state: SavedState
  readonly documentListeners = new DocumentListeners()
  readonly #keyOf: (name: string) => string
  readonly #records = new Map<DeviceId, Uint8Array>()
  readonly #waiting = new Map<DeviceId, Set<Waiter>>()
  #counts: OutboxCounts = { rows: 0, dropped: 0 }
  #droppedBefore: number | undefined
  #notices: NoticeCounts = { waiting: 0, dropped: 0 }
  #noticesDroppedBefore: number | undefined

  constructor(partitionOf: PartitionOf, keyOf: (name: string) => string) {
    this.state = new SavedState(partitionOf)
    this.#keyOf = keyOf
  }

  settling(): Promise<unknown> | undefined {
    return this.documentListeners.reading()
  }

  get(id: DeviceId): DeviceRecord | undefined {
    const bytes = this.#records.get(id)
    return bytes === undefined ? undefined : unpack<DeviceRecord>(bytes)
  }

  /** Resolves with true once this revision has arrived, or with false after the timeout. */
  untilRevision({ id, revision }: DeviceRecord, timeoutMs: number): Promise<boolean> {
    if ((this.get(id)?.revision ?? 0) >= revision) return Promise.resolve(true)
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(id) ?? new Set()
      this.#waiting.set(id, waiting)
      const waiter: Waiter = {
        revision,
        settle: (hasArrived) => {
          clearTimeout(timer)
          waiting.delete(waiter)
          if (waiting.size === 0) this.#waiting.delete(id)
          resolve(hasArrived)
        },
      }
      const timer = setTimeout(() => waiter.settle(false), timeoutMs)
      waiting.add(waiter)
    })
  }

  /** `dropped` since this process started. */
  outboxCounts(): OutboxCounts {
    const { rows, dropped } = this.#counts
    return { rows, dropped: dropped - (this.#droppedBefore ?? 0) }
  }

  /** `dropped` since this process started. */
  noticeCounts(): NoticeCounts {
    const { waiting, dropped } = this.#notices
    return { waiting, dropped: dropped - (this.#noticesDroppedBefore ?? 0) }
  }

  async load(reader: Reader): Promise<void> {
    const unseen = new Set(this.#records.keys())
    for await (const found of this.#scan(reader, 'devices'))
      for (const id of this.#putDevices(found)) unseen.delete(id)
    // Devices that were removed while this process was disconnected.
    this.#forget([...unseen])
    this.#putPositions(await reader.hgetall(this.#keyOf('positions')))
    const late = await reader.smembers(this.#keyOf('late'))
    this.state.removeLate(this.state.lateHours())
    this.state.addLate(late.map(toLate))
    for (const [name, value] of Object.entries(await reader.hgetall(this.#keyOf('facts'))))
      this.state.facts.set(name, value)
    const counts = await reader.hgetall(this.#keyOf('outbox-counts'))
    const { rows, dropped, 'notices-dropped': refused } = counts
    this.#counts = { rows: Number(rows ?? 0), dropped: Number(dropped ?? 0) }
    this.#droppedBefore ??= this.#counts.dropped
    const waiting = await reader.hlen(this.#keyOf('notices'))
    this.#notices = { waiting, dropped: Number(refused ?? 0) }
    this.#noticesDroppedBefore ??= this.#notices.dropped
    this.documentListeners.reloaded()
  }

  apply(fields: readonly Buffer[]): void {
    const [, message, , rows, , dropped, , waiting, , refused] = fields
    if (message === undefined) return
    const [
      devices = [],
      claims = [],
      applied = [],
      inserted = [],
      late = [],
      settled = [],
      facts = [],
      written = [],
      removed = [],
    ] = unpackLists(message)
    this.#forget(removed.map((id) => String(id) as DeviceId))
    this.#putDevices(devices)
    this.state.claimed(toPositions(claims).map(({ partition, seq }) => ({ partition, epoch: seq })))
    this.state.reached(toPositions(applied))
    this.state.checkpointed(toPositions(inserted))
    this.state.addLate(late.map(String).map(toLate))
    this.state.removeLate(settled.map(String).map(toLate))
    for (const [name, value] of pairs(facts)) this.state.facts.set(String(name), String(value))
    this.#counts = { rows: Number(rows), dropped: Number(dropped) }
    this.#notices = { waiting: Number(waiting ?? 0), dropped: Number(refused ?? 0) }
    this.documentListeners.written(
      [...pairs(written)].map(([collection, id]) => ({ collection: String(collection), id: String(id) })),
    )
  }

  #forget(deviceIds: readonly DeviceId[]): void {
    this.state.forget(deviceIds)
    for (const id of deviceIds) this.#records.delete(id)
  }

  #putDevices(found: readonly Buffer[]): readonly DeviceId[] {
    const ids: DeviceId[] = []
    for (const [, bytes] of pairs(found)) {
      // A copy: a view would keep the whole answer in memory.
      const own = new Uint8Array(bytes)
      const device = unpack<DeviceRecord>(own)
      this.#records.set(device.id, own)
      ids.push(device.id)
      this.state.putDevice(device)
      for (const waiter of this.#waiting.get(device.id) ?? [])
        if (device.revision >= waiter.revision) waiter.settle(true)
    }
    return ids
  }

  #putPositions(positions: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(positions)) {
      const [kind, number] = name.split(':')
      const position = { partition: Partition(Number(number)), seq: Number(text) }
      if (kind === 'inserted') this.state.checkpointed([position])
      else if (kind === 'applied') this.state.reached([position])
      else this.state.claimed([{ partition: position.partition, epoch: position.seq }])
    }
  }

  async *#scan(reader: Reader, name: string): AsyncGenerator<readonly Buffer[]> {
    for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
      const [next, found] = await reader.hscanBuffer(this.#keyOf(name), cursor, 'COUNT', SCAN_COUNT)
      yield found
      cursor = next.toString()
    }
  }
}

function toPositions(
  list: readonly Buffer[],
): readonly { readonly partition: Partition; readonly seq: number }[] {
  return [...pairs(list)].map(([partition, seq]) => ({
    partition: Partition(Number(partition)),
    seq: Number(seq),
  }))
}

function toLate(text: string): LateHour {
  const slash = text.lastIndexOf('/')
  const [hour, until] = text
    .slice(slash + 1)
    .split('-')
    .map(Number)
  // The store itself wrote this text from the id of a device.
  const late = { deviceId: text.slice(0, slash) as DeviceId, hour: hour ?? 0 }
  return until === undefined ? late : { ...late, until }
}

/** Trusts the type, because the store itself wrote this value. */
function unpack<T>(bytes: Uint8Array): T {
  return packr.unpack(bytes) as T
}
