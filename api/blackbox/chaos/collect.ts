// Reads through REST what the service holds of each device once nothing happens any more.
import { eachAtOnce } from '../../../schemas/each-at-once.ts'
import type { CommandStatus } from '../../../schemas/vocabulary.ts'
import { toShadowState } from './caller.ts'
import { ask } from './client.ts'
import type { Call, Change, DeviceOutcome, FinalCommand, Step } from './recording.ts'

const AT_ONCE = 6
/** Changes whose answers are kept in the audit before they are sent. */
const AUDITED = ['setDesiredState', 'sendCommand', 'cancelCommand'] as const
const POINTS_AT_ONCE = 10_000
const ROWS_AT_ONCE = 200
const DAY_MS = 86_400_000

type Row = Readonly<Record<string, unknown>>

export interface CollectOptions {
  readonly url: string
  readonly token: string
  /** The device's time of message 0, and the time between two messages. */
  readonly firstAt: number
  readonly stepMs: number
  /** When the run began. */
  readonly beganAt: number
  readonly calls: readonly Call[]
}

/** Throws while ClickHouse or an owner is away. */
export async function collect(
  devices: readonly string[],
  options: CollectOptions,
): Promise<readonly DeviceOutcome[]> {
  const collector = new Collector(options)
  const stored: DeviceOutcome[] = []
  await eachAtOnce(devices, AT_ONCE, async (device) => void stored.push(await collector.collect(device)))
  return stored
}

class Collector {
  readonly #options: CollectOptions

  constructor(options: CollectOptions) {
    this.#options = options
  }

  async collect(device: string): Promise<DeviceOutcome> {
    const { firstAt, stepMs, calls } = this.#options
    const plain = await this.#points(device, 'plain')
    const timed = await this.#points(device, 'timed')
    const steps = await this.#steps(device)
    const ids = new Set(steps.map(({ commandId }) => commandId))
    for (const call of calls)
      if (call.kind === 'command' && call.device === device && call.commandId !== undefined)
        ids.add(call.commandId)
    const letters = await this.#get(`/dead-letters?device_id=${device}`)
    return {
      device,
      plain: plain.map(({ value }) => value),
      timed: timed.map(({ time, value }) => ({ slot: (Date.parse(time) - firstAt) / stepMs, value })),
      changes: await this.#changes(device),
      shadow: toShadowState(await this.#get(`/shadows/${device}`)),
      steps,
      commands: await this.#commands(device, [...ids]),
      parked: Number(letters['total']),
      counted: { plain: await this.#counted(device, 'plain'), timed: await this.#counted(device, 'timed') },
      silences: await this.#silences(device),
      audited: await this.#audited(device),
    }
  }

  async #points(device: string, metric: string): Promise<readonly { time: string; value: number }[]> {
    const path = `/telemetry/${device}/history?metric=${metric}&interval=raw&limit=${POINTS_AT_ONCE}&${this.#range()}`
    // The answer has the type of its schema.
    return (await this.#pages(path)) as readonly { time: string; value: number }[]
  }

  async #counted(device: string, metric: string): Promise<number> {
    const path = `/telemetry/${device}/history?metric=${metric}&interval=1h&agg=count&${this.#range()}`
    return (await this.#pages(path)).reduce((sum, { count }) => sum + Number(count), 0)
  }

  #range(): string {
    const { firstAt } = this.#options
    return `from=${new Date(firstAt - DAY_MS).toISOString()}&to=${new Date(Date.now() + DAY_MS).toISOString()}`
  }

  async #silences(device: string): Promise<readonly number[]> {
    const rows = await this.#pages(`/devices/${device}/events?kind=status&limit=${ROWS_AT_ONCE}`)
    // The answer has the type of its schema.
    const moves = rows as readonly {
      readonly timestamp?: string
      readonly data?: { readonly reason?: unknown }
    }[]
    return moves
      .filter(({ data }) => data?.reason === 'no heartbeat')
      .map(({ timestamp = '' }) => Date.parse(timestamp) - this.#options.beganAt)
  }

  async #audited(device: string): Promise<readonly string[]> {
    const found: string[] = []
    for (const action of AUDITED) {
      const path = `/audit?device_id=${device}&action=${action}&outcome=success&limit=${ROWS_AT_ONCE}`
      for (const { request_id: requestId } of await this.#pages(path)) found.push(String(requestId))
    }
    return found
  }

  async #changes(device: string): Promise<readonly Change[]> {
    const rows = await this.#pages(`/shadows/${device}/history?limit=${ROWS_AT_ONCE}`)
    return rows.toReversed().map(toChange)
  }

  async #steps(device: string): Promise<readonly Step[]> {
    const rows = await this.#pages(`/devices/${device}/events?kind=command&limit=${ROWS_AT_ONCE}`)
    return rows.toReversed().map(({ data }) => {
      // The first step of a command holds its request.
      const body = data as {
        readonly command_id: string
        readonly status: CommandStatus
        readonly data?: { readonly token: string }
      }
      const token = body.data === undefined ? {} : { token: body.data.token }
      return { commandId: body.command_id, status: body.status, ...token }
    })
  }

  async #commands(device: string, ids: readonly string[]): Promise<Readonly<Record<string, FinalCommand>>> {
    const commands: Record<string, FinalCommand> = {}
    for (const id of ids) {
      const { status, body } = await this.#ask(`/commands/${device}/${id}`)
      if (status === 404) continue
      if (status !== 200) throw new Error(`${device} ${id}: ${status}`)
      // The answer has the type of its schema.
      commands[id] = { status: body['status'] as CommandStatus, attempts: Number(body['attempts']) }
    }
    return commands
  }

  async #pages(path: string): Promise<readonly Row[]> {
    const rows: Row[] = []
    for (let cursor: unknown; cursor !== null; ) {
      const more = cursor === undefined ? '' : `&cursor=${encodeURIComponent(String(cursor))}`
      const body = await this.#get(`${path}${more}`)
      // Every list has this type.
      rows.push(...(body['data'] as readonly Row[]))
      cursor = body['next_cursor'] ?? null
    }
    return rows
  }

  async #get(path: string): Promise<Row> {
    const { status, body, text } = await this.#ask(path)
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`)
    return body
  }

  #ask(path: string) {
    return ask(this.#options.url, this.#options.token, { method: 'GET', path })
  }
}

/** A change of a shadow as REST and `/ws` show it. */
export function toChange(row: Row): Change {
  // It has the type of its schema, and our own clients wrote its fields.
  const { version, section, patch } = row as unknown as Omit<Change, 'value'> & {
    readonly patch: { readonly value?: string; readonly report?: number }
  }
  return { version, section, value: section === 'desired' ? patch.value : patch.report }
}
