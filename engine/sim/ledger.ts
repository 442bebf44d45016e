// Checks the engine's commitments at the moment they are made: every save and every checkpoint, against the log and
// against what is stored.
import { Buffer } from 'node:buffer'
import { isDeepStrictEqual } from 'node:util'
import { Micros } from '../../schemas/ids.ts'
import { ITEM, type Item, readItems } from '../domain/bundle.ts'
import type { Command } from '../domain/command/record.ts'
import { type Connects, countConnect } from '../domain/device/flapping.ts'
import type { Shadow } from '../domain/shadow/record.ts'
import { LIMITS } from '../limits.ts'
import type { HistoryKey, WrittenRow } from '../ports/history.ts'
import type { Bundle } from '../ports/log.ts'
import type { Checkpoint, Save, Store } from '../ports/store.ts'
import { decodeCommand, decodeShadow } from '../runtime/shard/kept.ts'
import { readSession } from '../runtime/shard/sessions.ts'
import { AlertLedger } from './alert-ledger.ts'
import type { Rows } from './rows.ts'

interface Point {
  readonly deviceId: string
  /** Microseconds. */
  readonly at: number
}

export class Ledger {
  readonly alerts: AlertLedger
  readonly #rows: Rows
  readonly #violate: (what: string) => void
  /** The points that each entry of each partition must become, from its first entry on. */
  readonly #entries: (readonly Point[])[][] = Array.from({ length: LIMITS.partitions }, () => [])
  /** The history of every save that was made, by key. What is saved is promised. */
  readonly #shadows = new Map<string, Shadow>()
  readonly #commands = new Map<string, Command>()
  readonly #history = new Map<string, WrittenRow>()
  readonly #connects = new Map<string, Connects>()

  constructor(rows: Rows, violate: (what: string) => void) {
    this.#rows = rows
    this.#violate = violate
    this.alerts = new AlertLedger(violate)
  }

  /** The connects of a device as the log gives them. */
  connectsOf(deviceId: string): Connects | undefined {
    return this.#connects.get(deviceId)
  }

  appended(bundles: readonly Bundle[]): void {
    for (const { partition, body } of bundles) {
      const points: Point[] = []
      for (const item of readItems(body)) {
        if (isNumbered(item)) points.push(pointOf(item))
        if (item.kind === ITEM.opened && item.via.length === 0) this.#connected(item)
      }
      this.#entries[partition]?.push(points)
    }
  }

  #connected({ id, payload }: Item): void {
    const deviceId = Buffer.from(id).toString('latin1')
    const { number } = readSession(payload)
    this.#connects.set(deviceId, countConnect(this.#connects.get(deviceId), Micros(number)))
  }

  saved(save: Save): void {
    const { history, parts, commands } = save
    this.alerts.saved(
      save,
      history.filter((row) => !this.#history.has(keyOf(row))),
    )
    for (const { deviceId, part, bytes } of parts)
      if (part === 'shadow') this.#shadows.set(deviceId, decodeShadow(bytes))
    for (const { deviceId, commandId, bytes } of commands) {
      const key = `${deviceId} ${commandId}`
      if (bytes === undefined) this.#commands.delete(key)
      else this.#commands.set(key, decodeCommand(bytes))
    }
    for (const row of history) this.#history.set(keyOf(row), row)
  }

  shadowOf(deviceId: string): Shadow | undefined {
    return this.#shadows.get(deviceId)
  }

  commandOf(deviceId: string, commandId: string): Command | undefined {
    return this.#commands.get(`${deviceId} ${commandId}`)
  }

  commandsOf(deviceId: string): readonly Command[] {
    return [...this.#commands].flatMap(([key, command]) => (key.startsWith(`${deviceId} `) ? [command] : []))
  }

  /** The history that is promised for a device. */
  historyOf(deviceId: string): readonly WrittenRow[] {
    return [...this.#history.values()].filter((row) => row.deviceId === deviceId && row.kind !== 'audit')
  }

  /** The row that was saved under this key. */
  rowOf(key: HistoryKey): WrittenRow | undefined {
    return this.#history.get(keyOf(key))
  }

  saving(store: Store, save: Save): void {
    const applied = store.applied()
    for (const { partition, seq } of save.applied) {
      // The same save may be tried again.
      if (seq < (applied[partition] ?? 0)) this.#violate(`partition ${partition} is applied back to ${seq}`)
      if (seq > (this.#entries[partition]?.length ?? 0))
        this.#violate(`partition ${partition} is applied up to ${seq}, which is not in the log (R1)`)
    }
    for (const { deviceId, part, bytes } of save.parts) {
      if (part !== 'shadow') continue
      const [before, after] = [this.#shadows.get(deviceId), decodeShadow(bytes)]
      if (before === undefined || isDeepStrictEqual(before, after)) continue
      if (after.version <= before.version)
        this.#violate(`${deviceId} goes from shadow ${before.version} to ${after.version} (R8)`)
    }
    for (const device of save.changed) {
      const before = store.devices.get(device.id)
      if (before === undefined || isDeepStrictEqual(before, device)) continue
      if (device.revision <= before.revision)
        this.#violate(`${device.id} goes from revision ${before.revision} to ${device.revision} (R2)`)
    }
  }

  /** A checkpoint promises that everything before it is stored, because a restart does not read it again. */
  checkpointing(store: Store, { inserted }: Checkpoint): void {
    const before = store.inserted()
    for (const { partition, seq } of inserted) {
      const from = before[partition] ?? 0
      if (seq < from) this.#violate(`partition ${partition} is checkpointed back from ${from} to ${seq}`)
      for (const { deviceId, at } of this.#entries[partition]?.slice(from, seq).flat() ?? []) {
        const device = store.devices.get(deviceId as Parameters<Store['devices']['get']>[0])
        const isGone = device?.status === 'decommissioned' && Math.floor(at / 1000) > device.statusSince
        if (!isGone && !this.#rows.has(deviceId, 'n', at))
          this.#violate(
            `the checkpoint of partition ${partition} at ${seq} promises ${deviceId} at ${at}, which is not stored`,
          )
      }
    }
  }
}

/** True for a message with a number and without a time, which becomes one point at its receive time. */
function isNumbered({ kind, payload }: Item): boolean {
  return (
    kind === ITEM.message && Buffer.from(payload.subarray(0, 5)).toString() === '{"n":' && payload.length > 5
  )
}

function pointOf({ id, receivedAt }: Item): Point {
  return { deviceId: Buffer.from(id).toString('latin1'), at: receivedAt }
}

export function keyOf({ deviceId, kind, at, version }: Omit<WrittenRow, 'body'>): string {
  return `${deviceId} ${kind} ${at} ${version}`
}
