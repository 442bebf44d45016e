// Indexes of the fleet as they are sent: built and compressed at most once a second for all who may see the same devices.
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type FleetQuestion, fleetJudge, placesOf, questionKey } from '../../engine/domain/fleet/selection.ts'
import type { Engine } from '../../engine/index.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { FleetTable } from '../../engine/ports/fleet.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import type { IndexNames } from '../../schemas/fleet.ts'
import { fleetIndexBody } from '../bodies/fleet-index-body.ts'
import { API_LIMITS } from '../limits.ts'

export interface FleetIndexText {
  /** Identifies the content, and is its ETag. */
  readonly cursor: string
  readonly text: string
  /** The compressed content. It is compressed once, on first use. */
  packed(): Promise<Uint8Array>
}

interface KeptIndex {
  readonly index: FleetIndexText
  checkedAt: number
}

const pack = promisify(gzip)
/** This level takes two thirds of the work of the default one, for a tenth more bytes. */
const PACKING = { level: 4 }

export class FleetIndexes {
  readonly #engine: Pick<Engine, 'fleet'>
  readonly #clock: Clock
  /** Keyed by query and names, the least recently used first. */
  readonly #kept = new Map<string, KeptIndex>()

  constructor({ engine, clock }: { readonly engine: Pick<Engine, 'fleet'>; readonly clock: Clock }) {
    this.#engine = engine
    this.#clock = clock
  }

  async whole(question: FleetQuestion, names: IndexNames): Promise<FleetIndexText> {
    const key = questionKey(question)
    const keptAs = `${names} ${key}`
    const kept = this.#kept.get(keptAs)
    if (kept !== undefined && this.#clock.ticks() - kept.checkedAt < API_LIMITS.fleetIndexAgeMs)
      return kept.index
    const table = await this.#engine.fleet.table()
    const cursor = cursorOf(table, key)
    const index = kept?.index.cursor === cursor ? kept.index : this.#build(table, question, { cursor, names })
    this.#kept.delete(keptAs)
    this.#kept.set(keptAs, { index, checkedAt: this.#clock.ticks() })
    for (const oldest of this.#kept.keys())
      if (this.#kept.size > API_LIMITS.fleetIndexesMax) this.#kept.delete(oldest)
      else break
    return index
  }

  /** Undefined if the cursor belongs to another table or query, or is too old. */
  async since(question: FleetQuestion, since: string): Promise<{ cursor: string; text: string } | undefined> {
    const table = await this.#engine.fleet.table()
    const key = questionKey(question)
    const version = versionIn(since, table, key)
    if (version === undefined || !table.reachesBack(version)) return undefined
    const places = placesOf(table, question)
    const changed = places.filter((place) => (table.seenVersion[place] ?? 0) > version)
    const fits = fleetJudge(question)
    const moves = table.movedSince(version)
    // Rows that became visible are sent whole, like all other changed rows.
    const removed = [...moves]
      .filter(([place, before]) => {
        const row = table.rows[place]
        return before.some(fits) && (row === undefined || !fits(row))
      })
      .map(([place]) => table.ids[place] as string)
    const isTruncated = places.length > BODY_LIMITS.fleetDevicesMax
    const cursor = cursorOf(table, key)
    const shown = isTruncated ? [] : changed
    const body = { table, at: this.#clock.now(), cursor, places, shown, isTruncated, removed }
    return { cursor, text: JSON.stringify(fleetIndexBody(body)) }
  }

  #build(
    table: FleetTable,
    question: FleetQuestion,
    { cursor, names }: { readonly cursor: string; readonly names: IndexNames },
  ): FleetIndexText {
    const places = placesOf(table, question)
    const isTruncated = places.length > BODY_LIMITS.fleetDevicesMax
    const shown = isTruncated ? [] : places
    const body = fleetIndexBody({ table, at: this.#clock.now(), cursor, places, shown, isTruncated, names })
    const text = JSON.stringify(body)
    let packed: Promise<Uint8Array> | undefined
    return {
      cursor,
      text,
      packed() {
        packed ??= pack(text, PACKING)
        return packed
      },
    }
  }
}

/** Includes the table, its version and the query, so a cursor is invalid for any other query, such as that of a user whose
 *  groups have changed. */
function cursorOf(table: FleetTable, key: string): string {
  return `${stampOf(table, key)}-${table.version.toString(36)}`
}

function versionIn(cursor: string, table: FleetTable, key: string): number | undefined {
  const found = /^([0-9a-f]{16})-([0-9a-z]{1,10})$/.exec(cursor)
  return found?.[1] === stampOf(table, key) ? Number.parseInt(found?.[2] ?? '', 36) : undefined
}

function stampOf({ id }: FleetTable, key: string): string {
  return createHash('sha256').update(`${id} ${key}`).digest('hex').slice(0, 16)
}
