import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type FleetRow, newRows, newSightings } from '../../engine/domain/fleet/row.ts'
import { fleetJudge, placesOf } from '../../engine/domain/fleet/selection.ts'
import type { FleetTable } from '../../engine/ports/fleet.ts'
import { LiveFleet } from '../../engine/runtime/fleet/live-fleet.ts'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { type DeviceId, Millis } from '../../schemas/ids.ts'
import { DEVICE_STATUSES } from '../../schemas/vocabulary.ts'
import type { FleetDelta } from '../../schemas/ws.ts'
import { fleetIndexBody } from '../bodies/fleet-index-body.ts'
import { API_LIMITS } from '../limits.ts'
import { FleetHub } from './fleet-hub.ts'
import { FleetSubscription } from './fleet-subscription.ts'
import type { Scope } from './subscription.ts'
import { Replica } from './testing/replica.ts'

const IDS = ['d1', 'd2', 'd3', 'd4', 'd5', 'd6']
const GROUPS = ['a', 'a/b', 'c']
const SCOPE: Scope = { role: 'operator', groups: ['a'] }
const QUESTION = { within: SCOPE.groups }
const STEP_MS = 500

type Row = Partial<Pick<FleetRow, 'name' | 'group' | 'tags' | 'status' | 'flags'>> & { seenAt?: number }

type Step =
  | { readonly kind: 'change'; readonly rows: Readonly<Record<string, Row>> }
  | { readonly kind: 'look' }
  | { readonly kind: 'room'; readonly frames: number }
  | { readonly kind: 'index' }

const row: fc.Arbitrary<Row> = fc.record(
  {
    name: fc.constantFrom('x', 'y'),
    group: fc.constantFrom(...GROUPS),
    tags: fc.subarray(['p', 'q']),
    status: fc.constantFrom(...DEVICE_STATUSES),
    flags: fc.nat(3),
    seenAt: fc.nat(5),
  },
  { requiredKeys: [] },
)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      rows: fc.dictionary(fc.constantFrom(...IDS), row, { noNullPrototype: true }),
    }),
  },
  { weight: 3, arbitrary: fc.constant({ kind: 'look' as const }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('room' as const), frames: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'index' as const }) },
)

/** A socket that takes only as many frames as it is allowed to. */
class Client {
  readonly deltas: FleetDelta[] = []
  resyncs = 0
  room = Number.POSITIVE_INFINITY

  readonly outbox = {
    hasRoom: () => this.room > 0,
    offer: (frame: string) => {
      if (this.room <= 0) return false
      this.room -= 1
      const { type, event, data } = JSON.parse(frame)
      if (type === 'resync') this.resyncs += 1
      else if (event === 'fleet.delta') this.deltas.push(data)
      return true
    },
  }
}

/** The rows that a shard would report, as the test changes them. */
class Shard {
  readonly #rows = new Map<string, Row>()
  readonly #changed = new Set<string>()

  /** Fields that are not named keep their value. */
  change(rows: Readonly<Record<string, Row>>): void {
    for (const [id, row] of Object.entries(rows)) {
      this.#rows.set(id, { ...this.#rows.get(id), ...row })
      this.#changed.add(id)
    }
  }

  answer() {
    const rows = newRows()
    for (const id of this.#changed) {
      const row = this.#rows.get(id)
      rows.id.push(id as DeviceId)
      rows.rev.push(1)
      rows.seenAt.push(row?.seenAt ?? 0)
      rows.name.push(row?.name ?? id)
      rows.type.push('mqtt_device')
      rows.group.push(row?.group)
      rows.tags.push(row?.tags ?? [])
      rows.parentId.push(undefined)
      rows.firmware.push(undefined)
      rows.status.push(row?.status ?? 'online')
      rows.flags.push(row?.flags ?? 0)
      rows.since.push(Millis(0))
      rows.load.push(undefined)
    }
    this.#changed.clear()
    const counts = { messages: 0, points: 0, lagMs: 0 }
    return [{ source: 's', version: 1, rows, sightings: newSightings(), gone: [], isWhole: false, ...counts }]
  }
}

async function world() {
  const time = new StandingTime(0)
  const shard = new Shard()
  const fail = (error: unknown) => {
    throw error
  }
  const fleet = new LiveFleet({
    ...{ clock: time, schedule: time, id: () => 't', ask: async () => shard.answer(), failed: fail },
    ...{ latest: async () => [], deploymentsActive: () => 0 },
  })
  const hub = new FleetHub({
    ...{ fleet, clock: time, failed: fail },
    limits: { ...API_LIMITS, fleetFrameDevicesMax: 2 },
  })
  shard.change(Object.fromEntries(IDS.map((id, i) => [id, { group: GROUPS[i % 3] ?? 'a' }])))
  const table = await fleet.table()
  const look = async () => {
    time.at += STEP_MS
    // The shard's answer takes a few microtasks.
    await new Promise((resolve) => setImmediate(resolve))
  }
  const indexOf = () => {
    const places = placesOf(table, QUESTION)
    const parts = {
      table,
      at: time.now(),
      cursor: '',
      places,
      shown: places,
      isTruncated: false,
    }
    return fleetIndexBody(parts)
  }
  return { shard, table, hub, look, indexOf }
}

test('the index and deltas in any order add up to the server’s table, however slow the client is', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 30 }),
      fc.nat(29),
      fc.infiniteStream(fc.nat()),
      async (steps, indexAt, dice) => {
        const { shard, table, hub, look, indexOf } = await world()
        const client = new Client()
        // The part of a connection that the channel uses.
        const owner = {
          outbox: client.outbox,
          scopeNow: () => SCOPE,
        } as unknown as FleetSubscription['owner']
        const subscription = new FleetSubscription(
          { type: 'subscribe', id: 's', channel: 'fleet' },
          owner,
          'u',
        )
        await hub.add(subscription)
        const replica = new Replica()
        const said: (() => void)[] = []
        const read = () => {
          const index = indexOf()
          said.push(() => replica.read(index))
        }
        for (const [i, each] of steps.entries()) {
          if (i === Math.min(indexAt, steps.length - 1)) read()
          if (each.kind === 'change') shard.change(each.rows)
          else if (each.kind === 'look') await look()
          else if (each.kind === 'index') read()
          else client.room = each.frames
        }
        if (said.length === 0) read()
        client.room = Number.POSITIVE_INFINITY
        for (let i = 0; i < 3; i++) await look()
        hub.remove(subscription)
        for (const delta of client.deltas) said.push(() => replica.take(delta))
        const [first, ...rest] = said
        // The client applies the index first, and events before it wait.
        first?.()
        for (const tell of shuffled(rest, dice)) tell()
        expect(replica.rows()).toEqual(serverRows(table))
      },
    ),
    { numRuns: 400 },
  )
})

function serverRows(table: FleetTable) {
  const fits = fleetJudge(QUESTION)
  const rows = table.rows.flatMap((each, place) => {
    if (each === undefined || !fits(each)) return []
    const { name, type, tags, status, flags } = each
    const shown = {
      ...{ name, type, tags, status, flags },
      ...{ group: each.group ?? null, parent_id: each.parentId ?? null, firmware: each.firmware ?? null },
      ...{ since_ms: each.since, last_seen_ms: table.seenAt[place] || null },
    }
    return [[String(table.ids[place]), shown] as const]
  })
  return Object.fromEntries(rows.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function shuffled<T>(items: readonly T[], dice: fc.Stream<number>): readonly T[] {
  const rest = [...items]
  return [...items].map(() => {
    const roll = Number(dice.next().value ?? 0)
    return rest.splice(roll % rest.length, 1)[0] as T
  })
}
