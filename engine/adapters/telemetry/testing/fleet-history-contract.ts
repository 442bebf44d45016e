// The part of the contract about the history of many devices. All tests share one instance, and each has devices of its
// own.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CommandId, Micros, Millis } from '../../../../schemas/ids.ts'
import { COMMAND_STATUSES, type CommandStatus } from '../../../../schemas/vocabulary.ts'
import { HISTORY_KINDS, type HistoryRow } from '../../../domain/history/row.ts'
import { LIMITS } from '../../../limits.ts'
import type { CommandPlace, FleetPlace } from '../../../ports/history.ts'
import type { Telemetry } from '../../../ports/telemetry.ts'
import { commandSteps, fleetRows, pastCommands } from './memory-fleet-history.ts'
import { DeviceIdOf, historyBlock } from './telemetry.ts'

/** A time within this hour, because ClickHouse drops old logs by its own clock. */
const NOW = Math.floor(Date.now() / 3_600_000) * 3_600_000
const KEPT_KINDS = HISTORY_KINDS.filter((kind) => kind !== 'log')
/** Milliseconds before now: most are near, some are years away. */
const AGE = fc.oneof(fc.nat(5), fc.nat(2_000_000), fc.nat(40 * 86_400_000), fc.nat(3 * 365 * 86_400_000))

export function fleetHistoryContract({
  name,
  open,
  runs,
}: {
  readonly name: string
  readonly open: () => Promise<Telemetry>
  readonly runs: number
}): void {
  describe(`history of many devices: ${name}`, () => {
    let telemetry: Telemetry
    beforeAll(async () => {
      telemetry = await open()
    })
    afterAll(async () => {
      await telemetry.close()
    })
    const store = async (blocks: readonly (readonly HistoryRow[])[]) => {
      for (const rows of blocks) if (rows.length > 0) await telemetry.insert(historyBlock(rows))
    }

    test('log lines are found by text in message and logger, level, time and device', async () => {
      const line = (device: string, n: number, body: object): HistoryRow => ({
        deviceId: DeviceIdOf(device),
        kind: 'log',
        at: Micros((NOW + n) * 1000),
        version: n,
        body: { level: 'info', ...body },
      })
      const rows = [
        line('fa', 1, { message: 'Wheel 2 SLIPS', level: 'warn' }),
        line('fb', 2, { message: 'ok', logger: 'wheels' }),
        line('fc', 3, { message: 'a "quoted" \\ 100% line_', fields: { note: 'wheel' } }),
      ]
      await store([rows])
      const deviceIds = rows.map(({ deviceId }) => deviceId)
      const found = async (more: object) => {
        const all = await telemetry.fleetHistory({ deviceIds, kinds: ['log'], limit: 9, ...more })
        return all.map(({ deviceId }) => deviceId)
      }
      expect(await found({})).toEqual(['fc', 'fb', 'fa'])
      expect(await found({ find: 'wheel' })).toEqual(['fb', 'fa'])
      expect(await found({ find: '"quoted" \\ 100% line_' })).toEqual(['fc'])
      expect(await found({ find: 'wheel', labels: ['warn'] })).toEqual(['fa'])
      expect(await found({ from: Millis(NOW + 2), to: Millis(NOW + 3) })).toEqual(['fb'])
      expect(await found({ deviceIds: deviceIds.slice(0, 2) })).toEqual(['fb', 'fa'])
      expect(await found({ deviceIds: [] })).toEqual([])
      expect(await found({ kinds: [] })).toEqual([])
    })

    test('pages of rows are together all rows in order, each once', async () => {
      let run = 0
      const ROWS = fc.array(
        fc.record({
          device: fc.nat(3),
          kind: fc.constantFrom(...KEPT_KINDS),
          age: AGE,
          version: fc.nat(3),
        }),
        { maxLength: 30 },
      )
      await fc.assert(
        fc.asyncProperty(
          fc.array(ROWS, { minLength: 1, maxLength: 3 }),
          fc.uniqueArray(fc.constantFrom(...KEPT_KINDS), { minLength: 1 }),
          fc.integer({ min: 3, max: 20 }),
          fc.record({ from: AGE, to: AGE }, { requiredKeys: [] }),
          async (blocks, kinds, limit, ages) => {
            const prefix = `f${run++}-`
            const rows = blocks.map((block) =>
              block.map(({ device, kind, age, version }): HistoryRow => {
                const at = Micros((NOW - age) * 1000)
                return { deviceId: DeviceIdOf(`${prefix}${device}`), kind, at, version, body: { age } }
              }),
            )
            await store(rows)
            const deviceIds = [0, 1, 2, 3].map((n) => DeviceIdOf(`${prefix}${n}`))
            const from = ages.from === undefined ? undefined : Millis(NOW - ages.from)
            const to = ages.to === undefined ? undefined : Millis(NOW - ages.to)
            const once = new Map(rows.flat().map((r) => [`${r.deviceId} ${r.kind} ${r.at} ${r.version}`, r]))
            const query = { deviceIds, kinds, from, to }
            const want = fleetRows([...once.values()], { ...query, limit: 1_000 })
            const paged: HistoryRow[] = []
            for (let before: FleetPlace | undefined; ; before = paged.at(-1)) {
              const page = await telemetry.fleetHistory({ ...query, before, limit })
              paged.push(...page)
              if (page.length < limit) break
            }
            expect(paged).toEqual(want)
          },
        ),
        { numRuns: runs },
      )
    })

    test('commands are found by their creation, their fields and their last status', async () => {
      let run = 0
      const WORDS = ['go', 'stop'] as const
      const COMMAND = fc.record({
        device: fc.nat(2),
        age: AGE,
        name: fc.constantFrom(...WORDS),
        by: fc.constantFrom('usr_1', 'usr_2'),
        steps: fc.array(
          fc.record({
            status: fc.constantFrom(...COMMAND_STATUSES.filter((s) => s !== 'pending')),
            later: fc.oneof(fc.nat(1_000), fc.nat(7 * 86_400_000)),
          }),
          { maxLength: 3 },
        ),
      })
      await fc.assert(
        fc.asyncProperty(
          fc.array(COMMAND, { maxLength: 25 }),
          fc.record(
            {
              name: fc.constantFrom(...WORDS),
              createdBy: fc.constantFrom('usr_1', 'usr_2'),
              statuses: fc.uniqueArray(fc.constantFrom<CommandStatus>(...COMMAND_STATUSES), { minLength: 1 }),
              from: AGE.map((age) => Millis(NOW - age)),
              to: AGE.map((age) => Millis(NOW - age)),
            },
            { requiredKeys: [] },
          ),
          // The commands of one device are found in another way than those of several.
          fc.subarray([0, 1, 2], { minLength: 1 }),
          fc.integer({ min: 2, max: 8 }),
          async (commands, filter, asked, limit) => {
            const prefix = `g${run++}-`
            const rows = commands.flatMap(({ device, age, name: command, by, steps }, n): HistoryRow[] =>
              [{ status: 'pending' as CommandStatus, later: 0 }, ...steps]
                .sort((a, b) => a.later - b.later)
                .map(({ status, later }, step) => ({
                  deviceId: DeviceIdOf(`${prefix}${device}`),
                  kind: 'command',
                  at: Micros((NOW - age + later) * 1000 + step),
                  version: n * 10 + step,
                  body: { command_id: `${prefix}${n}`, command, status, created_by: by, broadcast_id: null },
                })),
            )
            // Rows that are sent again count once.
            await store([rows, rows.slice(1)])
            const deviceIds = asked.map((n) => DeviceIdOf(`${prefix}${n}`))
            const query = { deviceIds, ...filter }
            const want = pastCommands(rows, { ...query, limit: 1_000 })
            const paged = []
            for (let before: CommandPlace | undefined; ; before = paged.at(-1)) {
              const page = await telemetry.pastCommands({ ...query, before, limit })
              paged.push(...page)
              if (page.length < limit) break
            }
            expect(paged).toEqual(want)
            const stepsOf = (all: readonly HistoryRow[]) => [...all].sort((a, b) => a.version - b.version)
            expect(stepsOf(await telemetry.commandSteps(want))).toEqual(stepsOf(commandSteps(rows, want)))
          },
        ),
        { numRuns: runs },
      )
    })

    test('a command that reports its progress often does not crowd out the steps of others', async () => {
      const deviceId = DeviceIdOf('chatty')
      const step = (n: number, id: string, about: object): HistoryRow => ({
        ...{ deviceId, kind: 'command', at: Micros((NOW + n) * 1000), version: n },
        body: { command_id: id, command: 'go', ...about },
      })
      const reports = Array.from({ length: LIMITS.commandStepsMax + 5 }, (_, n) =>
        step(n + 10, 'cmd_b', { status: 'acked', progress: n / 1_000 }),
      )
      const rows = [
        step(1, 'cmd_a', { status: 'pending' }),
        step(2, 'cmd_a', { status: 'completed' }),
        step(3, 'cmd_b', { status: 'pending' }),
        ...reports,
      ]
      await store([rows])
      const places = ['cmd_b', 'cmd_a'].map((id) => ({
        ...{ deviceId, commandId: CommandId(id), createdAt: Millis(NOW) },
      }))
      const steps = await telemetry.commandSteps(places)
      const [, , b] = rows
      expect(steps).toEqual([reports.at(-1), reports[0], b, rows[1], rows[0]])
    })

    test('a command whose creation is not in the history is not listed', async () => {
      const deviceId = DeviceIdOf('headless')
      const body = { command_id: 'cmd_x', command: 'go', status: 'completed' }
      await store([[{ deviceId, kind: 'command', at: Micros(NOW * 1000), version: 1, body }]])
      expect(await telemetry.pastCommands({ deviceIds: [deviceId], limit: 9 })).toEqual([])
      const place = { deviceId, commandId: CommandId('cmd_x'), createdAt: Millis(NOW) }
      expect(await telemetry.commandSteps([place])).toHaveLength(1)
      expect(await telemetry.commandSteps([])).toEqual([])
    })
  })
}
