// `fleet debug`: shows live what happens between one device and the service: connects and refusals with their causes,
// messages, commands and dead letters.
import { setTimeout as sleep } from 'node:timers/promises'
import { RefusalError } from '../../../schemas/client.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { CommandStatus } from '../../../schemas/vocabulary.ts'
import type { Area } from '../area.ts'
import type { Cli, Connection } from '../cli.ts'
import { DEVICE_ARGUMENT } from '../option-parsers.ts'
import { watch } from '../watch.ts'

interface Options {
  readonly once?: boolean
}

interface Line {
  readonly at: string
  readonly what: 'connect' | 'refused' | 'dead_letter' | 'command' | 'telemetry' | 'event' | 'log'
  readonly about: string
  readonly data: unknown
}

/** Entries of each kind that the first read goes back. */
const RECENT = 10
const POLL_EVERY_MS = 2_000
const OPEN: CommandStatus[] = ['pending', 'delivered', 'acked']
/** Entries remembered as shown. A single read returns far fewer. */
const SHOWN_MAX = 1_000

export const debug: Area = (command, cli) => {
  command
    .argument(...DEVICE_ARGUMENT)
    .option('--once', 'print the state and the latest entries, and end')
    .addHelpText('after', '\nExamples:\n  fleet debug robot-7\n  fleet debug robot-7 --once --json\n')
    .action(async (deviceId: string, { once = false }: Options) => {
      const connection = await cli.connect()
      await showState(cli, connection, deviceId)
      const records = new Records(cli, connection, deviceId)
      await records.printNew()
      if (once) return
      cli.output.note(`watching ${deviceId}, until Ctrl-C`)
      await Promise.all([
        poll(cli, records),
        follow(cli, deviceId, 'events'),
        follow(cli, deviceId, 'telemetry'),
        follow(cli, deviceId, 'logs'),
      ])
    })
}

async function showState(cli: Cli, { client }: Connection, deviceId: string): Promise<void> {
  const device = await client.getDevice({ device_id: deviceId })
  const {
    status,
    status_reason: reason,
    connectivity,
    last_seen_at: seenAt,
    firmware_version: version,
  } = device
  const { connected, since, ip, session_id: sessionId, reason: cause, subscriptions, flapping } = connectivity
  cli.output.item({
    device_id: deviceId,
    status: reason === null ? status : `${status} (${reason})`,
    connected,
    since,
    cause,
    ip,
    session_id: sessionId,
    subscriptions,
    flapping,
    last_seen_at: seenAt,
    heartbeat_timeout_sec: device.heartbeat_timeout_sec,
    firmware_version: version,
    issues: device.issues,
  })
}

/** What is only available as lists: the audit, dead letters, and open commands. */
class Records {
  readonly #cli: Cli
  readonly #connection: Connection
  readonly #deviceId: string
  readonly #shown = new Set<string>()
  /** False once the caller has turned out not to be an admin. */
  #mayAudit = true

  constructor(cli: Cli, connection: Connection, deviceId: string) {
    this.#cli = cli
    this.#connection = connection
    this.#deviceId = deviceId
  }

  /** Prints what is new since the last read, oldest first. */
  async printNew(): Promise<void> {
    const parts = await Promise.all([this.#refusals(), this.#letters(), this.#commands()])
    const fresh = parts.flat().filter(([key]) => !this.#shown.has(key))
    for (const [key, line] of fresh.sort(([, a], [, b]) => a.at.localeCompare(b.at))) {
      this.#shown.add(key)
      print(this.#cli, line)
    }
    for (const oldest of this.#shown) {
      if (this.#shown.size <= SHOWN_MAX) break
      this.#shown.delete(oldest)
    }
  }

  async #refusals(): Promise<readonly (readonly [string, Line])[]> {
    if (!this.#mayAudit) return []
    const query = { device_id: this.#deviceId, outcome: 'refused', limit: RECENT } as const
    const page = await this.#connection.client.listAudit({ query }).catch((error: unknown) => {
      if (!(error instanceof RefusalError) || error.status !== 403) throw error
      this.#mayAudit = false
      this.#cli.output.note('refused connects are in the audit, which only an admin may read')
      return { data: [] }
    })
    // A refused message is also a dead letter, which has more details.
    const refused = page.data.filter(({ action }) => action !== 'mqtt.message')
    return refused.map(({ at, action, code, detail, ip, count }) => {
      const reason = Reflect.get(Object(detail), 'reason')
      const about = [action, code, reason, ip, (count ?? 1) > 1 ? `${count} times` : undefined]
      return [
        `audit ${at} ${action} ${code}`,
        { at, what: 'refused', about: joined(about), data: { action, code, detail, ip } },
      ]
    })
  }

  async #letters(): Promise<readonly (readonly [string, Line])[]> {
    const query = { device_id: this.#deviceId, per_page: RECENT }
    const page = await this.#connection.client.listDeadLetters({ query })
    return page.data.map((letter) => {
      const { id, received_at: at, topic, reason, detail, advice } = letter
      const about = `${topic}: ${reason}, ${detail}; advice: ${advice}`
      return [id, { at, what: 'dead_letter', about, data: letter }]
    })
  }

  async #commands(): Promise<readonly (readonly [string, Line])[]> {
    const query = { status: OPEN, per_page: RECENT }
    const page = await this.#connection.client.listCommands({ device_id: this.#deviceId, query })
    return page.data.map((command) => {
      const { command_id: id, command: name, status, created_at: at } = command
      return [`${id} ${status}`, { at, what: 'command', about: `${name} ${status} ${id}`, data: command }]
    })
  }
}

async function poll(cli: Cli, records: Records): Promise<void> {
  while (!cli.signal.aborted) {
    await sleep(POLL_EVERY_MS, undefined, { signal: cli.signal }).catch(() => undefined)
    if (!cli.signal.aborted) await records.printNew()
  }
}

async function follow(cli: Cli, deviceId: string, channel: 'events' | 'telemetry' | 'logs'): Promise<void> {
  await watch(cli, { channel, filter: { device_id: deviceId } }, (frame) => {
    if (frame['type'] !== 'event') return
    // A live event is an object.
    const data = frame['data'] as JsonObject
    const at = textOf(data['timestamp'] ?? frame['timestamp'])
    if (channel === 'telemetry')
      print(cli, { at, what: 'telemetry', about: textOf(data['data'] ?? data), data })
    else if (channel === 'logs')
      print(cli, { at, what: 'log', about: `${textOf(data['level'])} ${textOf(data['message'])}`, data })
    else {
      const kind = textOf(data['kind'])
      print(cli, { at, what: 'event', about: `${kind} ${textOf(data['data'])}`, data })
    }
  })
}

function print(cli: Cli, line: Line): void {
  cli.output.event(line, () => [line.at, line.what, line.about])
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
}

function joined(parts: readonly unknown[]): string {
  return parts.filter((part) => part !== undefined && part !== null && part !== '').join(', ')
}
