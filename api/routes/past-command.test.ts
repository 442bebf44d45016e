import { describe, expect, test } from 'vitest'
import { commandSteps } from '../../engine/adapters/telemetry/testing/memory-fleet-history.ts'
import { readAck } from '../../engine/domain/command/ack-message.ts'
import { createCommand } from '../../engine/domain/command/create.ts'
import { acknowledge, cancelCommand, markDelivered } from '../../engine/domain/command/lifecycle.ts'
import { type Command, type Commands, NO_COMMANDS } from '../../engine/domain/command/record.ts'
import { sendDue } from '../../engine/domain/command/send-order.ts'
import { type HistoryRow, writtenRow } from '../../engine/domain/history/row.ts'
import type { CommandPlace } from '../../engine/ports/history.ts'
import { commandRow } from '../../engine/runtime/shard/history-rows.ts'
import { CommandId, Micros, Millis, parseDeviceId } from '../../schemas/ids.ts'
import { commandBody } from '../bodies/command-body.ts'
import { createIds } from '../ids.ts'
import { findPastCommand } from './past-command.ts'

const NOW = Date.UTC(2026, 2, 1, 12)
const at = (ms: number) => Millis(NOW + ms)
const deviceId = parseDeviceId('r')
if (deviceId === undefined) throw new Error('a valid id')
const idOf = (ms: number) => CommandId(createIds({ now: () => at(ms), ticks: () => 0 }).next('cmd_'))
const id = idOf(0)

/** A command and its steps, with a history row for each step. */
class Past {
  readonly rows: HistoryRow[] = []
  readonly #id: CommandId
  #commands: Commands = NO_COMMANDS

  constructor(own = id) {
    this.#id = own
    const outcome = createCommand(
      NO_COMMANDS,
      { name: 'go', data: { a: 1 } },
      { id: own, by: 'usr_1', now: at(0) },
    )
    if (outcome.kind !== 'created') throw new Error('not created')
    this.#keep(outcome.commands, 0)
    this.#commands = sendDue(outcome.commands, {
      session: Micros(1),
      isRelayed: false,
      isUpdating: false,
      status: 'online',
      now: at(1),
    }).commands
  }

  get command(): Command {
    const [command] = this.#commands
    if (command === undefined) throw new Error('it is kept')
    return command
  }

  delivered(ms: number): this {
    return this.#keep(
      markDelivered(this.#commands, { id: this.#id, kind: 'command', now: at(ms) }).commands,
      ms,
    )
  }

  says(ms: number, status: string, more: object = {}): this {
    const ack = readAck(Buffer.from(JSON.stringify({ request_id: this.#id, status, ...more })))
    if (ack.kind !== 'ack') throw new Error(ack.detail)
    const outcome = acknowledge(this.#commands, ack, at(ms))
    if (outcome.kind !== 'changed') throw new Error(outcome.reason)
    return this.#keep(outcome.commands, ms)
  }

  cancelled(ms: number): this {
    const outcome = cancelCommand(this.#commands, this.#id, { now: at(ms), by: 'usr_2' })
    if (outcome.kind !== 'cancelled') throw new Error('not cancelled')
    return this.#keep(outcome.commands, ms)
  }

  commandSteps = async (commands: readonly CommandPlace[]) => commandSteps(this.rows, commands)

  #keep(commands: Commands, ms: number): this {
    this.#commands = commands
    if (deviceId === undefined) return this
    const row = commandRow(deviceId, this.command, { at: at(ms) * 1000, row: 0, place: ms })
    // Converts the row to text and back, as the store does.
    this.rows.unshift({ ...row, body: JSON.parse(writtenRow(row).body) })
    return this
  }
}

describe('a command rebuilt from the history equals the one its device held', () => {
  test.each([
    [
      'completed',
      () =>
        new Past()
          .delivered(20)
          .says(30, 'acked')
          .says(40, 'completed', { result: [1] }),
    ],
    ['failed', () => new Past().says(30, 'failed', { error: 'no', executed_at: '2026-03-01T12:00:00.020Z' })],
    ['cancelled', () => new Past().delivered(20).cancelled(50)],
    ['too large a result', () => new Past().says(30, 'completed', { result: 'x'.repeat(70_000) })],
    [
      'answered again and again, each time otherwise',
      () =>
        new Past()
          .says(30, 'completed', { result: 1 })
          .says(40, 'failed', { error: { code: 'E', message: 'after all' } })
          .says(50, 'completed', { result: 2 }),
    ],
  ])('%s', async (_, make) => {
    const past = make()
    const body = deviceId && (await findPastCommand(past, deviceId, id))
    expect(body).toEqual(deviceId && commandBody(deviceId, past.command, { status: 'online' }))
  })

  test('a command of a broadcast that reached its device minutes later is found', async () => {
    const late = idOf(-300_000)
    const past = new Past(late).says(30, 'completed')
    const body = deviceId && (await findPastCommand(past, deviceId, late))
    expect(body).toEqual(deviceId && commandBody(deviceId, past.command, { status: 'online' }))
  })

  test('a command is found among the many that its device got in the same minutes', async () => {
    const past = new Past().delivered(20).says(700, 'completed')
    for (let other = 1; other <= 600; other++)
      past.rows.unshift(...new Past(idOf(other)).delivered(other + 1).says(other + 2, 'failed').rows)
    const body = deviceId && (await findPastCommand(past, deviceId, id))
    expect(body).toEqual(deviceId && commandBody(deviceId, past.command, { status: 'online' }))
  })
})
