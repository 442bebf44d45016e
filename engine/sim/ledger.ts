// Checks every save and every checkpoint at the moment it is made, against the log and against what is stored.
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
import { readSession } from '../runtime/shard/sessions.ts'
import { decodeCommand, decodeShadow } from '../runtime/shard/stored-parts.ts'
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
  /** The points that must follow from each entry, by partition. */
  readonly #entries: (readonly Point[])[][] = Array.from({ length: LIMITS.partitions }, () => [])
  /** The latest shadow, commands and history that were saved, by key. What was saved is promised. */
  readonly #shadows = new Map<string, Shadow>()
  readonly #commands = new Map<string, Command>()
  readonly #versions = new Map<string, number>()
  readonly #history = new Map<string, WrittenRow>()
  /** Keys of rows that were saved since the store was last put back. */
  readonly #isSavedSince = new Set<string>()
  readonly #connects = new Map<string, Connects>()

  constructor(rows: Rows, violate: (what: string) => void) {
    this.#rows = rows
    this.#violate = violate
    this.alerts = new AlertLedger(violate)
  }

  /** The store was put back to the state after these saves. */
  setBack(saves: readonly Save[]): void {
    this.#shadows.clear()
    this.#commands.clear()
    this.#isSavedSince.clear()
    for (const save of saves) this.#keep(save)
  }

  /** Returns the connects of a device, counted from the log. */
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

  /** `wrong` is what `saving` returned. It counts only now, because the store may have refused the save. */
  saved(save: Save, wrong: readonly string[]): void {
    for (const what of wrong) this.#violate(what)
    const { history } = save
    this.alerts.saved(
      save,
      history.filter((row) => !this.#history.has(keyOf(row))),
    )
    this.#keep(save)
    for (const row of history) this.#keepRow(row)
  }

  /** Rows with the same key replace each other in ClickHouse, so they must not differ. */
  #keepRow(row: WrittenRow): void {
    const key = keyOf(row)
    const before = this.#history.get(key)
    // After the store was put back, a sweep may decide differently.
    if (before !== undefined && this.#isSavedSince.has(key) && before.body !== row.body)
      this.#violate(`${key} was saved twice, as ${before.body} and as ${row.body}`)
    this.#history.set(key, row)
    this.#isSavedSince.add(key)
  }

  #keep({ parts, commands }: Save): void {
    for (const { deviceId, part, bytes } of parts)
      if (part === 'shadow') this.#keepShadow(deviceId, decodeShadow(bytes))
    for (const { deviceId, commandId, bytes } of commands) {
      const key = `${deviceId} ${commandId}`
      if (bytes === undefined) this.#commands.delete(key)
      else this.#commands.set(key, decodeCommand(bytes))
    }
  }

  #keepShadow(deviceId: string, shadow: Shadow): void {
    this.#shadows.set(deviceId, shadow)
    this.#versions.set(deviceId, Math.max(this.#versions.get(deviceId) ?? 0, shadow.version))
  }

  /** Returns the greatest version of the device's shadow that was ever saved. */
  versionOf(deviceId: string): number {
    return this.#versions.get(deviceId) ?? 0
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

  /** Returns all saved history rows of a device, without audit entries. */
  historyOf(deviceId: string): readonly WrittenRow[] {
    return [...this.#history.values()].filter((row) => row.deviceId === deviceId && row.kind !== 'audit')
  }

  /** True if the row must be stored. A row that was saved before the store was put back may be lost. */
  isSure(row: WrittenRow): boolean {
    return this.#isSavedSince.has(keyOf(row))
  }

  /** Returns the row that was saved with this key. */
  rowOf(key: HistoryKey): WrittenRow | undefined {
    return this.#history.get(keyOf(key))
  }

  /** Returns what would be wrong if the store took this save. */
  saving(store: Store, save: Save): readonly string[] {
    const wrong: string[] = []
    const applied = store.applied()
    for (const { partition, seq } of save.applied) {
      // An equal `seq` is allowed, because a save may be tried again.
      if (seq < (applied[partition] ?? 0)) wrong.push(`partition ${partition} is applied back to ${seq}`)
      if (seq > (this.#entries[partition]?.length ?? 0))
        wrong.push(`partition ${partition} is applied up to ${seq}, which is not in the log (R1)`)
    }
    for (const { deviceId, part, bytes } of save.parts) {
      if (part !== 'shadow') continue
      const [before, after] = [this.#shadows.get(deviceId), decodeShadow(bytes)]
      if (before === undefined || isDeepStrictEqual(before, after)) continue
      if (after.version <= before.version)
        wrong.push(`${deviceId} goes from shadow ${before.version} to ${after.version} (R8)`)
    }
    for (const device of save.changed) {
      const before = store.devices.get(device.id)
      if (before === undefined || isDeepStrictEqual(before, device)) continue
      if (device.revision <= before.revision)
        wrong.push(`${device.id} goes from revision ${before.revision} to ${device.revision} (R2)`)
    }
    return wrong
  }

  /** Returns what would be wrong if the store took this checkpoint. A restart does not read entries before the checkpoint
   *  again, so their points must be stored. */
  checkpointing(store: Store, { inserted }: Checkpoint): readonly string[] {
    const wrong: string[] = []
    const before = store.inserted()
    for (const { partition, seq } of inserted) {
      const from = before[partition] ?? 0
      if (seq < from) wrong.push(`partition ${partition} is checkpointed back from ${from} to ${seq}`)
      for (const { deviceId, at } of this.#entries[partition]?.slice(from, seq).flat() ?? []) {
        const device = store.devices.get(deviceId as Parameters<Store['devices']['get']>[0])
        const isGone = device?.status === 'decommissioned' && Math.floor(at / 1000) > device.statusSince
        if (!isGone && !this.#rows.has(deviceId, 'n', at))
          wrong.push(
            `the checkpoint of partition ${partition} at ${seq} promises ${deviceId} at ${at}, which is not stored`,
          )
      }
    }
    return wrong
  }

  checkpointed(wrong: readonly string[]): void {
    for (const what of wrong) this.#violate(what)
  }
}

/** True for a numbered message without a timestamp, which becomes one point at its receive time. */
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
