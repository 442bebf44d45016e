import { expect, test } from 'vitest'
import { CommandId, toIso } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { cancelCommand, markDelivered } from './lifecycle.ts'
import type { Commands } from './record.ts'
import { commandsDeadline, heldReason, type Send, type SendContext, sendDue } from './send-order.ts'
import { at, bodyOf, create, find, live } from './testing/command.ts'

const ids = (sends: readonly Send[]) => sends.map(({ kind, command }) => `${kind} ${command.id}`)
const confirm = (commands: Commands, index: number, now: number) =>
  markDelivered(commands, { id: CommandId(`c${index}`), kind: 'command', now: at(now) }).commands
function cancel(commands: Commands, index: number, now: number): Commands {
  const outcome = cancelCommand(commands, CommandId(`c${index}`), { now: at(now), by: 'usr_1' })
  if (outcome.kind !== 'cancelled') throw new Error(outcome.code)
  return outcome.commands
}

test('commands are sent by priority, then by age', () => {
  let commands: Commands = []
  for (const priority of ['low', 'normal', 'critical', 'high', 'normal', 'critical'] as const)
    commands = create(commands, { priority })
  const urgent = sendDue(commands, live(1))
  expect(ids(urgent.sends)).toEqual(['command c2', 'command c5'])
  const arrived = confirm(confirm(urgent.commands, 2, 2), 5, 3)
  expect(ids(sendDue(arrived, live(3)).sends)).toEqual([
    'command c3',
    'command c1',
    'command c4',
    'command c0',
  ])
})

test('other commands wait while a critical one has been sent but has not arrived', () => {
  const { commands } = sendDue(create(create([]), { priority: 'critical', timeoutSec: 600 }), live(1))
  expect(sendDue(commands, live(2)).sends).toEqual([])
  expect(commandsDeadline(commands, live(2))).toBe(10_001)
  expect(ids(sendDue(confirm(commands, 1, 3), live(3)).sends)).toEqual(['command c0'])
  expect(ids(sendDue(cancel(commands, 1, 3), live(3)).sends)).toEqual(['cancel c1'])
  let tried = commands
  for (let i = 1; i < LIMITS.commandAttemptsMax; i++) {
    const again = sendDue(tried, live(i * 10_000 + 1))
    expect(ids(again.sends)).toEqual(['command c1'])
    tried = again.commands
  }
  tried = create(tried, { timeoutSec: 600 }, 50_000)
  expect(ids(sendDue(tried, live(50_001)).sends)).toEqual(['command c2'])
})

test('a message has the original timeout and the time at which it ends', () => {
  const commands = create([], { name: 'move', data: { x: 1 }, timeoutSec: 20 }, 1_000)
  const [send] = sendDue(commands, live(6_000)).sends
  expect(send?.message).toMatchObject({ suffix: 'command', qos: 1, retain: false })
  expect(send && bodyOf(send.message)).toEqual({
    request_id: 'c0',
    command: 'move',
    data: { x: 1 },
    timeout_ms: 20_000,
    priority: 'normal',
    expires_at: toIso(at(21_000)),
    issued_at: toIso(at(1_000)),
  })
  expect(sendDue(create([], { priority: 'critical' }), live(1)).sends[0]?.message.qos).toBe(2)
})

test.each<[string, Partial<SendContext>]>([
  ['without a session', { session: undefined }],
  ['in maintenance', { status: 'maintenance' }],
  ['decommissioned', { status: 'decommissioned' }],
  ['at the expiry', { now: at(10_000) }],
])('nothing is sent %s', (_, state) => {
  const commands = create([], { priority: 'critical' })
  const outcome = sendDue(commands, { ...live(1), ...state })
  expect(outcome.sends).toEqual([])
  expect(outcome.commands).toBe(commands)
})

test('a connected device gets commands even if it is silent or in error', () => {
  for (const status of ['offline', 'error', 'provisioning'] as const)
    expect(sendDue(create([]), { ...live(1), status }).sends).toHaveLength(1)
})

test('a sub-device that is silent gets urgent commands only', () => {
  const priorities = ['low', 'normal', 'critical', 'high'] as const
  const commands = priorities.reduce<Commands>((all, priority) => create(all, { priority }), [])
  const sentTo = (status: SendContext['status']) =>
    ids(sendDue(commands, { ...live(1), isRelayed: true, status }).sends)
  expect(sentTo('offline')).toEqual(['command c2'])
  expect(sentTo('provisioning')).toEqual(['command c2'])
  expect(sentTo('online')).toEqual(['command c2'])
  const rest = sendDue(commands, { ...live(1), isRelayed: true, status: 'offline' }).commands
  // There is nothing to do before the first retry.
  expect(commandsDeadline(rest, { ...live(1), isRelayed: true, status: 'offline' })).toBe(10_000)
})

test('a message is counted before it is sent, and not repeated while its PUBACK may still come', () => {
  const { commands } = sendDue(create([]), live(1))
  expect(find(commands, 0).delivery).toEqual({ attempts: 1, sentAt: 1, sentIn: 1, deliveredAt: undefined })
  expect(sendDue(commands, live(10_000)).sends).toEqual([])
  expect(ids(sendDue(commands, live(10_001)).sends)).toEqual(['command c0'])
})

test('a message is repeated at once in a new session, with the same id', () => {
  const first = sendDue(create([]), live(1))
  const second = sendDue(first.commands, live(2, 2))
  expect(second.sends.map(({ message }) => bodyOf(message)['request_id'])).toEqual(['c0'])
})

test('a message is not repeated after its PUBACK or the last attempt', () => {
  let commands = create([], { timeoutSec: 600 })
  for (let i = 0; i < LIMITS.commandAttemptsMax; i++) commands = sendDue(commands, live(i * 10_000)).commands
  expect(find(commands, 0).delivery.attempts).toBe(5)
  expect(sendDue(commands, live(60_000, 9)).sends).toEqual([])
  const confirmed = confirm(sendDue(create([]), live(1)).commands, 0, 2)
  expect(sendDue(confirmed, live(20_000, 9)).sends).toEqual([])
})

test('a full window does not delay urgent messages, and a lost PUBACK frees its place', () => {
  let commands: Commands = []
  for (let i = 0; i < 12; i++) commands = create(commands, { timeoutSec: 300 })
  const first = sendDue(commands, live(1))
  expect(first.sends).toHaveLength(LIMITS.commandsInFlightMax)
  const urgent = create(first.commands, { priority: 'critical' }, 2)
  expect(ids(sendDue(urgent, live(2)).sends)).toEqual(['command c12'])
  expect(ids(sendDue(confirm(first.commands, 3, 2), live(3)).sends)).toEqual(['command c8'])
  const givenUp = first.commands.map((command) => ({
    ...command,
    delivery: { ...command.delivery, attempts: command.delivery.attempts && LIMITS.commandAttemptsMax },
  }))
  expect(ids(sendDue(givenUp, live(10_001)).sends)).toEqual(
    ['c8', 'c9', 'c10', 'c11'].map((id) => `command ${id}`),
  )
})

test('a paced command is not sent before it is due', () => {
  const commands = create([], { notBefore: at(5_000) })
  expect(sendDue(commands, live(4_999)).sends).toEqual([])
  expect(commandsDeadline(commands, live(1))).toBe(5_000)
  expect(sendDue(commands, live(5_000)).sends).toHaveLength(1)
})

test('nothing is ever sent for a command that was cancelled before it was sent', () => {
  const commands = cancel(create([]), 0, 1)
  expect(sendDue(commands, live(2)).sends).toEqual([])
  expect(commandsDeadline(commands, live(2))).toBe(Number.POSITIVE_INFINITY)
})

test('cancelling a sent command sends a notice, which is repeated until the device has it', () => {
  const commands = cancel(sendDue(create([]), live(1)).commands, 0, 100)
  const told = sendDue(commands, live(100))
  expect(told.sends.map(({ message }) => bodyOf(message))).toMatchObject([
    { request_id: 'c0_cancel', command: '$cancel', data: { request_id: 'c0' }, timeout_ms: 30_000 },
  ])
  expect(ids(sendDue(told.commands, live(200, 2)).sends)).toEqual(['cancel c0'])
  const known = markDelivered(told.commands, { id: CommandId('c0'), kind: 'cancel', now: at(150) })
  expect(known.changed).toEqual([])
  expect(sendDue(known.commands, live(200, 2)).sends).toEqual([])
})

test('the next deadline is the expiry while the device is away', () => {
  expect(commandsDeadline(create([]), { ...live(1), session: undefined })).toBe(30_000)
  expect(commandsDeadline([], live(1))).toBe(Number.POSITIVE_INFINITY)
})

test('the next deadline is now while something is to be sent, then its next retry, then its expiry', () => {
  const commands = create([])
  expect(commandsDeadline(commands, live(1))).toBe(1)
  const sent = sendDue(commands, live(1)).commands
  expect(commandsDeadline(sent, live(1))).toBe(10_001)
  expect(commandsDeadline(confirm(sent, 0, 5), live(5))).toBe(30_000)
})

test('a pending command of a device in maintenance shows why it waits', () => {
  const command = find(create([]), 0)
  expect(heldReason(command, 'maintenance', false)).toBe('maintenance')
  expect(heldReason(command, 'online', false)).toBeUndefined()
  expect(heldReason(command, 'online', true)).toBe('firmware_update')
  expect(heldReason({ ...command, priority: 'critical' }, 'online', true)).toBeUndefined()
  expect(heldReason({ ...command, status: 'acked' }, 'maintenance', true)).toBeUndefined()
})
