import { expect, test } from 'vitest'
import type { CommandStatus } from '../../../../schemas/vocabulary.ts'
import type { CommandCall, DeviceOutcome, Message, Recording, Step } from '../recording.ts'
import { checkCommands } from './commands.ts'
import { DEVICE, message, recordingOf, textsOf } from './testing/recording.ts'

const ID = 'cmd_1'
const sent: CommandCall = {
  kind: 'command',
  caller: 'user',
  node: 'api',
  device: DEVICE,
  token: 't1',
  from: 0,
  to: 10,
  status: 202,
  commandId: ID,
  seen: 'pending',
}
const looked = (
  seen: CommandStatus,
  from: number,
  to: number,
  kind: 'look' | 'cancel' = 'look',
): CommandCall => ({
  kind,
  caller: 'user',
  node: 'api',
  device: DEVICE,
  from,
  to,
  status: 200,
  commandId: ID,
  seen,
})
const steps = (...statuses: readonly CommandStatus[]): readonly Step[] =>
  statuses.map((status, i) => ({ commandId: ID, status, ...(i === 0 ? { token: 't1' } : {}) }))
const answered = (status: 'completed' | 'failed', ackedAt?: number): Message => ({
  ...message('answer', 0, [20], ackedAt),
  answer: { commandId: ID, status },
})

function texts(
  statuses: readonly CommandStatus[],
  parts: Partial<Recording> & { readonly more?: Partial<DeviceOutcome> } = {},
): readonly string[] {
  const { more, ...rest } = parts
  const status = statuses.at(-1) ?? 'pending'
  const stored = { steps: steps(...statuses), commands: { [ID]: { status, attempts: 1 } }, ...more }
  return textsOf(
    checkCommands(recordingOf({ calls: [sent], messages: [answered('completed', 30)], ...rest, stored })),
  )
}

test('a command that is delivered, acked and completed is correct, also with steps missing or repeated', () => {
  expect(texts(['pending', 'delivered', 'acked', 'completed'])).toEqual([])
  expect(texts(['pending', 'acked', 'acked', 'completed'])).toEqual([])
  expect(texts(['pending', 'expired', 'completed'])).toEqual([])
})

test('a move that the table of moves does not allow is a violation', () => {
  expect(texts(['pending', 'completed', 'acked', 'completed'])).toEqual([
    `${ID} moved from completed to acked`,
  ])
  expect(texts(['delivered', 'completed'])).toContain(`${ID} began as delivered`)
})

test('an accepted command must exist and be in the history', () => {
  expect(texts(['pending', 'completed'], { more: { commands: {} } })).toEqual([
    `${ID} was accepted and is gone`,
  ])
  expect(texts(['pending', 'completed'], { more: { steps: [] } })).toEqual([`${ID} is not in the history`])
})

test('the last step of a command is its status, and every command ends', () => {
  expect(texts(['pending', 'delivered'], { messages: [] })).toEqual([`${ID} is still delivered`])
  const more = { commands: { [ID]: { status: 'completed' as const, attempts: 1 } } }
  expect(texts(['pending', 'acked'], { more })).toEqual([`${ID} is completed, its history ends with acked`])
})

test('only an acknowledged answer of the device decides how a command ends', () => {
  expect(texts(['pending', 'delivered', 'expired'])).toEqual([
    `${ID} is expired, though its device said completed at 20`,
  ])
  expect(texts(['pending', 'delivered', 'expired'], { messages: [answered('completed')] })).toEqual([])
  expect(texts(['pending', 'failed'])).toEqual([`${ID} is failed, and its device never said so`])
  expect(texts(['pending', 'completed'], { messages: [] })).toEqual([
    `${ID} is completed, and its device never said so`,
  ])
  expect(texts(['pending', 'delivered', 'cancelled'])).toEqual([])
})

test('a status that was shown never goes back', () => {
  const calls = [sent, looked('acked', 30, 31), looked('delivered', 32, 33)]
  expect(texts(['pending', 'delivered', 'acked', 'completed'], { calls })).toEqual([
    `${ID} was shown as delivered to user at 32, after it had been shown as acked to user`,
  ])
  const atOnce = [sent, looked('acked', 30, 33), looked('delivered', 32, 34)]
  expect(texts(['pending', 'delivered', 'acked', 'completed'], { calls: atOnce })).toEqual([])
})

test('a status that was shown must be in the history', () => {
  const calls = [sent, looked('cancelled', 30, 31, 'cancel')]
  expect(texts(['pending', 'completed'], { calls })).toEqual([
    `${ID} was shown cancelled to user, which it never was`,
  ])
})

test('a call makes one command, and every command has a call', () => {
  const twice: Step[] = [
    ...steps('pending', 'completed'),
    { commandId: 'cmd_2', token: 't1', status: 'pending' },
  ]
  expect(texts(['pending', 'completed'], { more: { steps: twice } })).toEqual([`one call made ${ID} cmd_2`])
  expect(texts(['pending', 'completed'], { calls: [] })).toEqual([`has ${ID}, which nobody sent`])
  const receipts = [{ device: DEVICE, commandId: 'cmd_3', token: 't3', at: 5 }]
  expect(texts(['pending', 'completed'], { receipts })).toEqual(['received cmd_3, which nobody sent'])
})

test('a command is not sent without end', () => {
  const more = { commands: { [ID]: { status: 'completed' as const, attempts: 6 } } }
  expect(texts(['pending', 'completed'], { more })).toEqual([`${ID} was sent 6 times`])
})

test('a command that counts as never sent reaches nobody', () => {
  const more = { commands: { [ID]: { status: 'cancelled' as const, attempts: 0 } } }
  expect(texts(['pending', 'cancelled'], { more })).toEqual([])
  const receipts = [{ device: DEVICE, commandId: ID, token: 't1', at: 5 }]
  expect(texts(['pending', 'cancelled'], { more, receipts })).toEqual([
    `received ${ID} at 5, which was never sent`,
  ])
})
