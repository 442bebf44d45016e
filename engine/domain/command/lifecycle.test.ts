import { describe, expect, test } from 'vitest'
import { BroadcastId, CommandId } from '../../../schemas/ids.ts'
import { COMMAND_STATUSES, type CommandStatus } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import {
  abandonCommands,
  acknowledge,
  cancelCommand,
  expireCommands,
  markDelivered,
  noteUnreadable,
  trimCommands,
} from './lifecycle.ts'
import { COMMAND_CAUSES, COMMAND_MOVES, type CommandCause, isOpen } from './moves.ts'
import type { Command, Commands } from './record.ts'
import { sendDue } from './send-order.ts'
import { ackOf, at, create, find, live } from './testing/command.ts'

const id = CommandId('c0')
const sent = sendDue(create([]), live(1)).commands
const inStatus = (status: CommandStatus): Commands => sent.map((command) => ({ ...command, status }))
const say = (commands: Commands, status: string, now: number, fields: object = {}) => {
  const outcome = acknowledge(commands, ackOf(0, status, fields), at(now))
  return outcome.kind === 'changed' ? outcome.commands : commands
}
const cancel = (commands: Commands, now: number) => cancelCommand(commands, id, { now: at(now), by: 'usr_2' })

const DONE: Readonly<Record<CommandCause, (commands: Commands) => Commands>> = {
  deliver: (commands) => markDelivered(commands, { id, kind: 'command', now: at(5) }).commands,
  accept: (commands) => say(commands, 'acked', 5),
  complete: (commands) => say(commands, 'completed', 5),
  fail: (commands) => say(commands, 'failed', 5),
  reject: (commands) => say(commands, 'rejected', 5),
  expire: (commands) => expireCommands(commands, at(30_000)).commands,
  cancel: (commands) => {
    const outcome = cancel(commands, 5)
    return outcome.kind === 'cancelled' ? outcome.commands : commands
  },
}

for (const status of COMMAND_STATUSES)
  for (const cause of COMMAND_CAUSES) {
    const to = COMMAND_MOVES[status][cause]
    test(`${status} on ${cause} ${to === undefined ? 'stays' : `becomes ${to}`}`, () => {
      expect(find(DONE[cause](inStatus(status)), 0).status).toBe(to ?? status)
    })
  }

test('an answer implies a delivery and an acceptance that were not observed', () => {
  const executed = '2026-05-01T10:00:00.250Z'
  const commands = say(sent, 'completed', 9, { result: { ok: true }, executed_at: executed })
  expect(find(commands, 0)).toMatchObject({
    status: 'completed',
    deliveredAt: 9,
    ackedAt: 9,
    completedAt: 9,
    executedAt: Date.parse(executed),
    result: { ok: true },
    progress: 100,
    late: false,
  })
})

test('an answer keeps the observed times of delivery and acceptance', () => {
  const had = markDelivered(sent, { id, kind: 'command', now: at(3) }).commands
  const commands = say(say(had, 'accepted', 4), 'failed', 9, { error: { code: 'E1', message: 'stuck' } })
  expect(find(commands, 0)).toMatchObject({
    deliveredAt: 3,
    ackedAt: 4,
    completedAt: 9,
    error: { code: 'E1', message: 'stuck' },
  })
})

test('progress only grows, and the same progress again changes nothing', () => {
  const some = say(sent, 'in_progress', 2, { progress: 40 })
  expect(find(some, 0)).toMatchObject({ status: 'acked', progress: 40 })
  for (const status of ['acked', 'in_progress']) {
    const outcome = acknowledge(some, ackOf(0, status, { progress: 30 }), at(3))
    expect(outcome).toEqual({ kind: 'ignored', reason: 'outdated' })
  }
  expect(find(say(some, 'in_progress', 3, { progress: 60 }), 0)).toMatchObject({ ackedAt: 2, progress: 60 })
})

test('an answer after the final one changes nothing if it is the same, and is kept if it contradicts', () => {
  const done = say(sent, 'completed', 5, { result: 1 })
  expect(say(done, 'completed', 6, { result: 1 })).toBe(done)
  expect(say(done, 'in_progress', 6)).toBe(done)
  const disputed = say(done, 'failed', 7, { error: 'no' })
  expect(find(disputed, 0)).toMatchObject({
    status: 'completed',
    completedAt: 5,
    conflicts: [{ status: 'failed', at: 7, error: { code: 'FAILED', message: 'no' } }],
  })
  expect(say(disputed, 'failed', 8, { error: 'no' })).toBe(disputed)
})

test('contradicting answers are kept up to a bound', () => {
  let commands = say(sent, 'completed', 5)
  for (let i = 0; i < 50; i++) commands = say(commands, 'completed', 6, { result: i })
  expect(find(commands, 0).conflicts).toHaveLength(LIMITS.commandConflictsMax)
})

test('a command that is answered before it was sent is never sent', () => {
  const answered = say(create([]), 'completed', 2)
  expect(find(answered, 0)).toMatchObject({ status: 'completed', deliveredAt: 2, ackedAt: 2 })
  expect(sendDue(answered, live(3)).sends).toEqual([])
})

test('an answer to another device’s command is ignored', () => {
  expect(acknowledge(sent, ackOf(7, 'completed'), at(2))).toEqual({ kind: 'ignored', reason: 'unknown' })
  const ack = { ...ackOf(0, 'completed'), requestId: 'c0_cancel' }
  expect(acknowledge(sent, ack, at(2))).toEqual({ kind: 'ignored', reason: 'outdated' })
})

test('only open commands past their deadline expire', () => {
  const commands = create(create([]), { timeoutSec: 60 })
  const { commands: after, changed } = expireCommands(commands, at(30_000))
  expect(after.map(({ status }) => status)).toEqual(['expired', 'pending'])
  expect(changed).toEqual([after[0]])
  expect(expireCommands(after, at(59_999)).commands).toBe(after)
})

test('an expired command takes a late result for a day', () => {
  const expired = expireCommands(sent, at(30_000)).commands
  expect(find(say(expired, 'completed', 40_000), 0)).toMatchObject({ status: 'completed', late: true })
  const tooLate = say(expired, 'failed', 30_000 + LIMITS.commandLateMs)
  expect(find(tooLate, 0)).toMatchObject({ status: 'expired', conflicts: [{ status: 'failed' }] })
  expect(find(say(expired, 'rejected', 40_000), 0)).toMatchObject({
    status: 'expired',
    conflicts: [{ status: 'rejected' }],
  })
})

test('a command expires at its deadline even if the sweep is late', () => {
  expect(find(say(sent, 'completed', 30_000), 0)).toMatchObject({ status: 'completed', late: true })
  expect(say(sent, 'acked', 30_000)).toBe(sent)
  expect(markDelivered(sent, { id, kind: 'command', now: at(30_000) }).commands).toBe(sent)
  expect(cancel(sent, 30_000)).toMatchObject({ kind: 'refused', detail: { from: 'expired' } })
})

test('cancelling a command twice is refused the second time', () => {
  const first = cancel(sent, 5)
  if (first.kind !== 'cancelled') throw new Error(first.code)
  expect(first.command).toMatchObject({ status: 'cancelled', cancelledAt: 5, cancelledBy: 'usr_2' })
  expect(cancel(first.commands, 6)).toMatchObject({ code: 'INVALID_STATE_TRANSITION' })
})

test('cancelling an unknown command is refused', () => {
  expect(cancel([], 5)).toMatchObject({ code: 'NOT_FOUND' })
})

test('the answer to a cancelled command is kept beside the status', () => {
  const outcome = cancel(sent, 5)
  if (outcome.kind !== 'cancelled') throw new Error(outcome.code)
  expect(find(say(outcome.commands, 'completed', 6), 0)).toMatchObject({
    status: 'cancelled',
    conflicts: [{ status: 'completed' }],
  })
})

test('cancelling all commands because the device is gone sends nothing', () => {
  const { commands, changed } = abandonCommands(sent, { now: at(5), by: 'usr_1' })
  expect(changed.map(({ status }) => status)).toEqual(['cancelled'])
  expect(sendDue(commands, live(6, 2)).sends).toEqual([])
  expect(abandonCommands(commands, { now: at(6), by: 'usr_1' }).commands).toBe(commands)
})

describe('what is kept', () => {
  const many = (count: number, fields: Partial<Command>): Commands => {
    let commands: Commands = []
    for (let i = 0; i < count; i++) commands = create(commands)
    return commands.map((command) => ({ ...command, ...fields }))
  }

  test('every open command is kept, and the newest finished ones', () => {
    const commands = [...many(30, { status: 'completed' }), ...many(40, {})]
    const kept = trimCommands(commands, at(1))
    expect(kept.filter(({ status }) => isOpen(status))).toHaveLength(40)
    expect(kept.slice(0, LIMITS.commandsKeptMax)).toEqual(commands.slice(30 - LIMITS.commandsKeptMax, 30))
    expect(trimCommands(kept, at(1))).toBe(kept)
  })

  test('expired commands are kept while a late result counts, up to a bound', () => {
    const commands = many(100, { status: 'expired' })
    expect(trimCommands(commands, at(60_000))).toBe(commands)
    expect(trimCommands(commands, at(30_000 + LIMITS.commandLateMs))).toHaveLength(LIMITS.commandsKeptMax)
    const bound = LIMITS.commandsLateMax + LIMITS.commandsKeptMax
    expect(trimCommands(many(500, { status: 'expired' }), at(60_000))).toHaveLength(bound)
  })

  test('finished commands with an idempotency key are kept for a day, up to a bound', () => {
    const commands = many(100, { status: 'completed', idempotencyKey: 'k' })
    expect(trimCommands(commands, at(LIMITS.idempotencyKeyMs - 1))).toBe(commands)
    expect(trimCommands(commands, at(LIMITS.idempotencyKeyMs))).toHaveLength(LIMITS.commandsKeptMax)
  })

  test('finished commands of a broadcast are kept until its result is saved, up to a bound', () => {
    const done = { status: 'completed', broadcastId: BroadcastId('b1') } as const
    const commands = many(100, done)
    expect(trimCommands(commands, at(30_000 + LIMITS.broadcastCountMs - 1))).toBe(commands)
    const later = at(30_000 + LIMITS.broadcastCountMs)
    expect(trimCommands(commands, later)).toHaveLength(LIMITS.commandsKeptMax)
    const bound = LIMITS.commandsLateMax + LIMITS.commandsKeptMax
    expect(trimCommands(many(500, done), at(1))).toHaveLength(bound)
  })
})

describe('an answer that nobody can read', () => {
  const note = (commands: Commands, ids: readonly string[], now = 5, why = 'not JSON') =>
    noteUnreadable(commands, { ids: new Set(ids), why, now: at(now) })
  const UNREADABLE = { code: 'MALFORMED_ACK', message: 'not JSON' }

  test('is noted on its command, which stays open and expires with the note', () => {
    const { commands, changed } = note(sent, ['c0', 'c7'])
    expect(changed).toMatchObject([{ id: 'c0', status: 'pending', error: UNREADABLE }])
    expect(note(commands, ['c0']).changed).toEqual([])
    expect(find(expireCommands(commands, at(30_000)).commands, 0)).toMatchObject({
      ...{ status: 'expired', error: UNREADABLE },
    })
    expect(find(note(sent, ['c0'], 30_000).commands, 0)).toMatchObject({
      ...{ status: 'expired', error: UNREADABLE },
    })
  })

  test('is replaced by a readable one', () => {
    const noted = note(sent, ['c0']).commands
    expect(find(say(noted, 'acked', 6), 0)).toMatchObject({ status: 'acked', error: undefined })
    expect(find(say(noted, 'completed', 6), 0)).toMatchObject({ status: 'completed', error: undefined })
  })

  test.each(['completed', 'failed', 'rejected', 'cancelled'] as const)(
    'is nothing to a %s command',
    (status) => {
      expect(note(inStatus(status), ['c0']).changed).toEqual([])
    },
  )

  test('is not noted anywhere if it could concern several commands', () => {
    const two = create(sent)
    expect(
      note(
        two,
        two.map((command) => command.id),
      ).changed,
    ).toEqual([])
    expect(note(two, ['c9']).commands).toBe(two)
  })
})
