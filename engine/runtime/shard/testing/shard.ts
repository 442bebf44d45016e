// A shard with one partition, without thread, host or log: tasks in, results out.
import { Micros, Millis, Partition } from '../../../../schemas/ids.ts'
import type { Device, DeviceRecord } from '../../../domain/device/record.ts'
import { readBlock } from '../../../domain/telemetry/native-reader.ts'
import type { Block } from '../../../ports/telemetry.ts'
import { newProgress } from '../progress.ts'
import type { AnswerOf, Ask, WorkResult, WorkTask } from '../protocol.ts'
import { Shard } from '../shard.ts'
import { changesOf, decodeParts } from '../stored-parts.ts'
import { bundle, deviceOf, idOf, START, type TestItem } from './items.ts'

export const P = Partition(0)
export const TIMEOUT_MS = 60_000
export const at = (ms: number) => Millis(START + ms)

export const NOTHING: WorkTask = {
  kind: 'work',
  settle: true,
  entries: [],
  rows: true,
  asks: [],
  sweep: undefined,
  unsent: [],
  forgiveAt: undefined,
  leaps: [],
  horizon: Millis(0),
  wants: undefined,
  cut: 'due',
  vitals: false,
  now: START,
}

const NEW_PARTS = decodeParts({ parts: {}, commands: [] })

export class ShardBench {
  readonly shard: Shard
  #seq = 0

  constructor(
    devices: readonly (DeviceRecord & Partial<Device>)[] = [],
    options: {
      applied?: number
      vitals?: Uint8Array
      bootAt?: Millis
      resumedAt?: Millis
      typeHeartbeatMs?: ReadonlyMap<string, number>
      dueDevicesPerTaskMax?: number
    } = {},
  ) {
    const settings = {
      partitions: [P],
      heartbeatTimeoutMs: TIMEOUT_MS,
      typeHeartbeatMs: options.typeHeartbeatMs,
      bootAt: Micros((options.bootAt ?? at(-1_000)) * 1000),
      ...(options.resumedAt && { resumedAt: options.resumedAt }),
      incarnation: 'l',
      ...(options.dueDevicesPerTaskMax && { dueDevicesPerTaskMax: options.dueDevicesPerTaskMax }),
      progress: newProgress(),
    }
    this.shard = new Shard(settings, () => 0)
    this.shard.run({
      kind: 'load',
      devices: devices.map((device) => {
        const { parts, commands } = changesOf(undefined, { ...NEW_PARTS, ...device })
        return {
          device,
          vitals: options.vitals,
          parts: Object.fromEntries(parts.map(({ part, bytes }) => [part, bytes])),
          commands: commands.flatMap(({ bytes }) => bytes ?? []),
        }
      }),
      applied: [{ partition: P, seq: options.applied ?? 0 }],
      now: START,
    })
  }

  /** Runs one task. By default the previous proposal counts as saved. */
  work(parts: Partial<WorkTask> = {}): WorkResult {
    return this.shard.work({ ...NOTHING, ...parts })
  }

  /** Applies the next entry of the log, with these items. */
  apply(items: readonly TestItem[], parts: Partial<WorkTask> = {}): WorkResult {
    return this.work({ entries: [this.entry(++this.#seq, items)], ...parts })
  }

  entry(seq: number, items: readonly TestItem[]) {
    return { partition: P, seq, body: bundle(items) }
  }

  ask<A extends Ask>(ask: A, parts: Partial<WorkTask> = {}): AnswerOf<A> {
    // The answer to the only question.
    return this.work({ ...parts, asks: [ask] }).answers[0] as AnswerOf<A>
  }

  view(id: string) {
    return this.ask({ kind: 'views', deviceIds: [idOf(id)] })[0]
  }

  snapshot(id: string) {
    return this.ask({ kind: 'snapshot', deviceId: idOf(id) })?.data
  }

  /** Hands out all rows so far. */
  rows(): readonly Block[] {
    return this.work({ cut: 'all' }).blocks
  }
}

export const statuses = ({ proposal }: WorkResult) =>
  proposal.changed.map(({ id, status: to }) => `${id} ${to}`)
export const valuesOf = (blocks: readonly Block[]) =>
  blocks.flatMap(({ bytes }) => {
    const read = readBlock(bytes)
    return read.kind === 'points' ? read.rows.flatMap(({ values }) => values) : []
  })
export const online = deviceOf('a', { status: 'online' })
