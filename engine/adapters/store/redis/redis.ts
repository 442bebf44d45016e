// The store that several processes share: all data is in Redis, and each process holds what lists, filters and positions
// need, kept up to date by the writes of all processes.
//
// - A write is one script: records, documents, dead letters, late hours, history, notices and positions, all or nothing
//   (R4), and refused if a later owner has claimed one of its partitions (R2).
// - Memory changes only by the messages of writes, in their order; a write is complete once its own message is applied. So
//   a process reads what it has written and, after a claim, everything that the earlier owner has written.
// - Memory holds the records as bytes; shadows, commands, vitals, letters and history are read on demand.

import type { DeviceId, Micros, Partition } from '../../../../schemas/ids.ts'
import { chunks } from '../../../domain/chunks.ts'
import { newPackr } from '../../../domain/packing.ts'
import { LIMITS } from '../../../limits.ts'
import type { Notice, NoticeCounts } from '../../../ports/notices.ts'
import {
  type Checkpoint,
  type Claim,
  DEVICE_PARTS,
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterPage,
  type DeadLetterQuery,
  type DevicePart,
  type LateHour,
  type LetterName,
  type LetterReason,
  type OutboxBatch,
  type OutboxCounts,
  type Save,
  type Store,
  type StoredDevice,
} from '../../../ports/store.ts'
import { Follower } from '../../redis/redis-follower.ts'
import type { RedisLink } from '../../redis/redis-link.ts'
import { packLists, pairs, type RedisBytes } from '../../redis/redis-lists.ts'
import { DeviceDirectory } from '../device-directory.ts'
import { letterFits, reasonsOf } from '../letter-reasons.ts'
import {
  OUTBOX_BOUNDS,
  type OutboxBounds,
  outboxKey,
  packedRows,
  timeOfBatch,
  unpackedRows,
} from '../outbox.ts'
import { keyOfLate, type PartitionOf } from '../saved-state.ts'
import { RedisDocuments, readNotices, toDocumentLists, toPartLists } from './redis-documents.ts'
import { RedisReplica } from './redis-replica.ts'
import { READ_OUTBOX, WRITE } from './redis-scripts.ts'

/** Names of the script's lists, in its order. */
const MESSAGE_LISTS = [
  'devices',
  'raised',
  'applied',
  'inserted',
  'late',
  'settled',
  'facts',
  'documentsTold',
  'gone',
] as const
const SCRIPT_LISTS = [
  'claims',
  'shadows',
  'vitals',
  'commands',
  'commandsGone',
  'letters',
  'history',
  'historyGone',
  'firmware',
  'alerts',
  'documents',
  'documentsGone',
  'notices',
  'noticesGone',
  'lettersGone',
] as const
type Write = {
  readonly [Name in (typeof MESSAGE_LISTS)[number] | (typeof SCRIPT_LISTS)[number]]?: readonly RedisBytes[]
}

const BATCH = 1_000
const packr = newPackr()

/** The caller closes the link, after the store. */
export async function openRedisStore(
  link: RedisLink,
  options: { readonly partitionOf: PartitionOf; readonly outbox?: OutboxBounds | undefined },
): Promise<Store> {
  const replica = new RedisReplica(options.partitionOf, (name) => link.key(name))
  const follower = new Follower(link, replica)
  const writer = await link.read((redis) => redis.incr(link.key('writers')))
  const bounds = options.outbox ?? OUTBOX_BOUNDS
  const store = new RedisStore({ link, replica, follower, bounds, writer })
  await follower.start()
  return store
}

class RedisStore implements Store {
  readonly devices: DeviceDirectory
  readonly documents: RedisDocuments
  readonly writer: number
  readonly #link: RedisLink
  readonly #replica: RedisReplica
  readonly #follower: Follower
  readonly #bounds: OutboxBounds

  constructor(parts: {
    readonly link: RedisLink
    readonly replica: RedisReplica
    readonly follower: Follower
    readonly bounds: OutboxBounds
    readonly writer: number
  }) {
    this.writer = parts.writer
    this.#link = parts.link
    this.#replica = parts.replica
    this.#follower = parts.follower
    this.#bounds = parts.bounds
    this.documents = new RedisDocuments(parts.link, parts.replica.documentListeners)
    this.devices = new DeviceDirectory(this.#replica.state.index, (id) => this.#replica.get(id), {
      untilSeen: async (device) => {
        await this.#replica.untilRevision(device, LIMITS.storeKnownMs)
      },
      catchUp: () => this.#follower.catchUp(),
      freshen: () => this.#follower.freshen(),
    })
  }

  isUp(): boolean {
    return this.#follower.isUp()
  }

  claim(claims: readonly Claim[]): Promise<void> {
    const raised = listOf(claims)
    return this.#write({ claims: raised, raised })
  }

  async *load(partitions: readonly Partition[]): AsyncGenerator<readonly StoredDevice[]> {
    const ids = this.#replica.state.index.idsOf(new Set(partitions))
    for (const some of chunks(ids, BATCH)) yield await this.#loadDevices(some)
  }

  applied() {
    return this.#replica.state.applied()
  }

  inserted() {
    return this.#replica.state.inserted()
  }

  epochs() {
    return this.#replica.state.epochs()
  }

  save(save: Save): Promise<void> {
    const key = outboxKey(save.history)
    const commands = save.commands.map(
      ({ deviceId, commandId, bytes }) => [deviceId, commandId, bytes] as const,
    )
    return this.#write({
      claims: listOf(save.claims),
      gone: save.removed,
      settled: save.removed.flatMap((deviceId) => this.lateHoursOf(deviceId).map(keyOfLate)),
      devices: save.changed.flatMap((device) => [device.id, packr.pack(device)]),
      applied: save.applied.flatMap(({ partition, seq }) => [partition, seq]),
      late: save.late.map(keyOfLate),
      ...toPartLists(save.parts),
      commands: commands.flatMap(([deviceId, id, bytes]) =>
        bytes === undefined ? [] : [deviceId, id, bytes],
      ),
      commandsGone: commands.flatMap(([deviceId, id, bytes]) => (bytes === undefined ? [deviceId, id] : [])),
      letters: save.deadLetters.flatMap((letter) => [nameOf(letter), packr.pack(letter)]),
      history: key === undefined ? [] : [key, packr.pack(packedRows(save.history))],
      ...toDocumentLists(save.documents),
      notices: save.notices.flatMap(({ key, bytes }) => [key, bytes]),
      noticesGone: save.noticesRemoved,
      lettersGone: save.lettersRemoved.map(nameOf),
    })
  }

  checkpoint({ claims, inserted, vitals }: Checkpoint): Promise<void> {
    return this.#write({
      claims: listOf(claims),
      inserted: inserted.flatMap(({ partition, seq }) => [partition, seq]),
      vitals: vitals.flatMap(({ deviceId, bytes }) =>
        this.#replica.state.index.has(deviceId) ? [deviceId, bytes] : [],
      ),
    })
  }

  async deadLetters(query: DeadLetterQuery): Promise<DeadLetterPage> {
    const { offset, limit, deviceId, reason, before } = query
    if (reason !== undefined || before !== undefined) {
      const letters: DeadLetter[] = []
      for await (const letter of this.#allLetters(query)) letters.push(letter)
      return { letters: letters.slice(offset, offset + limit), total: letters.length }
    }
    const names = await this.#letterNames(deviceId)
    return { letters: await this.#lettersOf(names.slice(offset, offset + limit)), total: names.length }
  }

  async deadLetter(id: string): Promise<DeadLetter | undefined> {
    const names = await this.#letterNames(undefined)
    const [letter] = await this.#lettersOf(names.filter((name) => name.startsWith(`${id} `)))
    return letter
  }

  async deadLetterReasons(filter: DeadLetterFilter): Promise<readonly LetterReason[]> {
    const letters: Pick<DeadLetter, 'deviceId' | 'reason' | 'receivedAt'>[] = []
    for await (const { deviceId, reason, receivedAt } of this.#allLetters(filter))
      letters.push({ deviceId, reason, receivedAt })
    return reasonsOf(letters)
  }

  /** Newest first. */
  async #letterNames(deviceId: DeviceId | undefined): Promise<readonly string[]> {
    const all = await this.#link.read((redis) => redis.zrevrange(this.#link.key('letter-order'), 0, -1))
    return deviceId === undefined ? all : all.filter((name) => name.endsWith(` ${deviceId}`))
  }

  async #lettersOf(names: readonly string[]): Promise<readonly DeadLetter[]> {
    if (names.length === 0) return []
    const found = await this.#link.read((redis) => redis.hmgetBuffer(this.#link.key('letters'), ...names))
    return found.flatMap((bytes) => (bytes === null ? [] : [unpack<DeadLetter>(bytes)]))
  }

  async *#allLetters(filter: DeadLetterFilter): AsyncGenerator<DeadLetter> {
    const names = await this.#letterNames(filter.deviceId)
    for (const some of chunks(names, BATCH))
      for (const letter of await this.#lettersOf(some)) if (letterFits(letter, filter)) yield letter
  }

  lateHours(): readonly LateHour[] {
    return this.#replica.state.lateHours()
  }

  lateHoursOf(deviceId: DeviceId): readonly LateHour[] {
    return this.#replica.state.lateHoursOf(deviceId)
  }

  clearLate(hours: readonly LateHour[], claims: readonly Claim[] = []): Promise<void> {
    return this.#write({ claims: listOf(claims), settled: hours.map(keyOfLate) })
  }

  async outbox(bounds: {
    readonly rowsMax: number
    readonly bytesMax: number
  }): Promise<readonly OutboxBatch[]> {
    const args = [bounds.rowsMax, bounds.bytesMax, LIMITS.outboxReaderMs]
    // Keys and values alternate.
    const found = (await this.#link.run(READ_OUTBOX, args)) as readonly Buffer[]
    return [...pairs(found)].map(([key, value]) => ({
      key: key.toString(),
      rows: unpackedRows(unpack(value)),
    }))
  }

  clearHistory(keys: readonly string[]): Promise<void> {
    return this.#write({ historyGone: keys })
  }

  async oldestHistory(): Promise<Micros | undefined> {
    const key = this.#link.key('outbox-order')
    const [oldest] = await this.#link.read((redis) => redis.zrange(key, 0, 0))
    return oldest === undefined ? undefined : timeOfBatch(oldest)
  }

  outboxCounts(): OutboxCounts {
    return this.#replica.outboxCounts()
  }

  notices(max: number): Promise<readonly Notice[]> {
    return readNotices(this.#link, max)
  }

  noticeCounts(): NoticeCounts {
    return this.#replica.noticeCounts()
  }

  getFact(name: string): string | undefined {
    return this.#replica.state.facts.get(name)
  }

  putFact(name: string, value: string, claims: readonly Claim[] = []): Promise<void> {
    return this.#write({ claims: listOf(claims), facts: [name, value] })
  }

  close(): Promise<void> {
    return this.#follower.close()
  }

  async #write(write: Write): Promise<void> {
    const { rowsMax, bytesMax } = this.#bounds
    const reply = await this.#link.run(WRITE, [
      ...[this.#follower.id, LIMITS.storeMessagesKept, LIMITS.deadLettersMax, rowsMax, bytesMax],
      LIMITS.noticesMax,
      packLists(MESSAGE_LISTS.map((name) => write[name] ?? [])),
      packLists(SCRIPT_LISTS.map((name) => write[name] ?? [])),
    ])
    await this.#follower.untilApplied(Number(reply))
  }

  async #loadDevices(ids: readonly DeviceId[]): Promise<readonly StoredDevice[]> {
    const key = (name: string) => this.#link.key(name)
    const [vitals, shadow, firmware, alerts, commands] = await this.#link.read((redis) =>
      Promise.all([
        redis.hmgetBuffer(key('vitals'), ...ids),
        redis.hmgetBuffer(key('shadows'), ...ids),
        redis.hmgetBuffer(key('firmware'), ...ids),
        redis.hmgetBuffer(key('alerts'), ...ids),
        Promise.all(ids.map((id) => redis.hvalsBuffer(key(`commands:${id}`)))),
      ]),
    )
    return ids.flatMap((id, i) => {
      const device = this.#replica.get(id)
      if (device === undefined) return []
      const parts = presentParts({ shadow: shadow[i], firmware: firmware[i], alerts: alerts[i] })
      return [{ device, vitals: vitals[i] ?? undefined, parts, commands: commands[i] ?? [] }]
    })
  }
}

/** Leaves out the parts that the device lacks. */
function presentParts(
  found: Readonly<Record<DevicePart, Uint8Array | null | undefined>>,
): StoredDevice['parts'] {
  return Object.fromEntries(DEVICE_PARTS.flatMap((part) => (found[part] ? [[part, found[part]]] : [])))
}

const nameOf = ({ id, deviceId }: LetterName) => `${id} ${deviceId}`

/** Trusts the type, because this file wrote the value. */
function unpack<T>(bytes: Uint8Array): T {
  return packr.unpack(bytes) as T
}

function listOf(claims: readonly Claim[]): readonly number[] {
  return claims.flatMap(({ partition, epoch }) => [partition, epoch])
}
