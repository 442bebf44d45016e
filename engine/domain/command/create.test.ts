import { expect, test } from 'vitest'
import { BroadcastId, CommandId } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { type CommandRequest, createCommand } from './create.ts'
import { cancelCommand } from './lifecycle.ts'
import type { Commands } from './record.ts'
import { at, create, find } from './testing/command.ts'

const ask = (commands: Commands, wish: Partial<CommandRequest>, now = 0) =>
  createCommand(commands, { name: 'go', ...wish }, { id: CommandId('new'), by: 'usr_1', now: at(now) })

test('a command starts pending, with the defaults of its priority', () => {
  expect(find(create([]), 0)).toMatchObject({
    status: 'pending',
    priority: 'normal',
    timeoutSec: 30,
    data: {},
  })
  expect(find(create([], { priority: 'critical' }, 5), 0)).toMatchObject({
    timeoutSec: 10,
    expiresAt: 10_005,
  })
  expect(find(create([], { priority: 'critical', timeoutSec: 3 }, 5), 0).expiresAt).toBe(3_005)
})

test('the timeout of a paced command starts when it is due to be sent', () => {
  expect(find(create([], { notBefore: at(60_000), timeoutSec: 5 }), 0).expiresAt).toBe(65_000)
})

test('a repeated idempotency key finds its command', () => {
  const commands = create([], { idempotencyKey: 'k', data: { a: 1, b: 2 } })
  const again = ask(commands, { idempotencyKey: 'k', data: { b: 2, a: 1 } }, 1_000)
  expect(again).toEqual({ kind: 'repeated', command: find(commands, 0) })
})

test('an idempotency key of another request is refused, and is free again after a day', () => {
  const commands = create([], { idempotencyKey: 'k', data: { a: 1 } })
  expect(ask(commands, { idempotencyKey: 'k', data: { a: 2 } })).toMatchObject({
    code: 'IDEMPOTENCY_KEY_REUSED',
  })
  expect(ask(commands, { idempotencyKey: 'k' }, LIMITS.idempotencyKeyMs).kind).toBe('created')
})

test('a broadcast distributed twice creates one command', () => {
  const commands = create([], { broadcastId: BroadcastId('bc_1') })
  expect(ask(commands, { broadcastId: BroadcastId('bc_1') }).kind).toBe('repeated')
  expect(ask(commands, { broadcastId: BroadcastId('bc_2') }).kind).toBe('created')
})

test('data over the limit is refused, and the refusal states its size', () => {
  const data = { text: 'é'.repeat(40_000) }
  expect(ask([], { data })).toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
    detail: { limit: 65_536, actual: 80_011 },
  })
})

test('a full queue refuses commands until one of its commands ends', () => {
  let commands: Commands = []
  for (let i = 0; i < LIMITS.commandsOpenMax; i++) commands = create(commands)
  expect(ask(commands, {})).toMatchObject({ code: 'COMMAND_QUEUE_FULL', detail: { actual: 1_000 } })
  const cancelled = cancelCommand(commands, CommandId('c0'), { now: at(1), by: 'usr_1' })
  if (cancelled.kind !== 'cancelled') throw new Error(cancelled.code)
  expect(ask(cancelled.commands, {}).kind).toBe('created')
})

test('a queue is limited in bytes as well', () => {
  const data = { text: 'x'.repeat(60_000) }
  let commands: Commands = []
  for (let i = 0; i < 69; i++) commands = create(commands, { data })
  expect(ask(commands, { data })).toMatchObject({ code: 'COMMAND_QUEUE_FULL' })
  expect(ask(commands, {}).kind).toBe('created')
})

test('command names that begin with $ are refused', () => {
  expect(ask([], { name: '$cancel' })).toMatchObject({ code: 'VALIDATION_FAILED' })
})
