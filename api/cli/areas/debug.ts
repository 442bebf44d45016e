// `fleet debug`: shows live what happens between one device and the service: connects and refusals with their causes,
// messages, commands and dead letters.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Area } from '../area.ts'
import type { Cli, Connection } from '../cli.ts'
import { DEVICE_ARGUMENT } from '../option-parsers.ts'
import { patiently } from '../patiently.ts'
import { watch } from '../watch.ts'
import { DebugRecords, printLine } from './debug-records.ts'

interface Options {
  readonly once?: boolean
}

const POLL_EVERY_MS = 2_000

export const debug: Area = (command, cli) => {
  command
    .argument(...DEVICE_ARGUMENT)
    .option('--once', 'print the state and the latest entries, and end')
    .addHelpText('after', '\nExamples:\n  fleet debug robot-7\n  fleet debug robot-7 --once --json\n')
    .action(async (deviceId: string, { once = false }: Options) => {
      const connection = await cli.connect()
      await showState(cli, connection, deviceId)
      const records = new DebugRecords(cli, connection, deviceId)
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

async function poll(cli: Cli, records: DebugRecords): Promise<void> {
  while (!cli.signal.aborted) {
    await sleep(POLL_EVERY_MS, undefined, { signal: cli.signal }).catch(() => undefined)
    if (!cli.signal.aborted) await patiently(cli, () => records.printNew())
  }
}

async function follow(cli: Cli, deviceId: string, channel: 'events' | 'telemetry' | 'logs'): Promise<void> {
  await watch(cli, { channel, filter: { device_id: deviceId } }, (frame) => {
    if (frame['type'] !== 'event') return
    // A live event is an object.
    const data = frame['data'] as JsonObject
    const at = textOf(data['timestamp'] ?? frame['timestamp'])
    if (channel === 'telemetry')
      printLine(cli, { at, what: 'telemetry', about: textOf(data['data'] ?? data), data })
    else if (channel === 'logs')
      printLine(cli, { at, what: 'log', about: `${textOf(data['level'])} ${textOf(data['message'])}`, data })
    else {
      const kind = textOf(data['kind'])
      printLine(cli, { at, what: 'event', about: `${kind} ${textOf(data['data'])}`, data })
    }
  })
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
}
