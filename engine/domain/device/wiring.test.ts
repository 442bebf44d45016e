import { expect, test } from 'vitest'
import { CommandId, Micros, Millis, parseDeviceId } from '../../../schemas/ids.ts'
import { toAck } from '../command/ack-message.ts'
import { commandDeadline, sendCommands } from './command-events.ts'
import type { DeviceEvent } from './events.ts'
import { register, transition } from './transition.ts'

const at = (ms: number): Millis => Millis(ms)
const id = parseDeviceId('dev_a')
if (id === undefined) throw new Error('a valid id')
test('effects of commands, shadows and decommissioning come out of one transition', () => {
  let device = register(
    id,
    { kind: 'register', name: 'A', type: 'mqtt_device' },
    { kind: 'user', id: 'usr_1' },
    at(0),
  ).device
  const take = (event: DeviceEvent, ms: number) => {
    const outcome = transition(device, event, at(ms))
    device = outcome.device
    return outcome.effects.map((effect) => effect.kind)
  }
  const request = (wish: object) =>
    ({ kind: 'requested', by: { kind: 'user', id: 'usr_1' }, request: wish }) as DeviceEvent
  expect(take(request({ kind: 'command', id: CommandId('c1'), wish: { name: 'go' } }), 1)).toEqual([
    'answer',
    'command_moved',
  ])
  expect(commandDeadline(device, undefined, at(1))).toBe(30_001)
  const sent = sendCommands(device, { way: { session: Micros(7), via: undefined }, now: at(2) })
  device = sent.device
  expect(sent.effects).toMatchObject([{ kind: 'publish', confirms: { commandId: 'c1', message: 'command' } }])
  expect(take({ kind: 'delivered', commandId: CommandId('c1'), message: 'command' }, 3)).toEqual([
    'command_moved',
  ])
  const unreadable = { kind: 'acked_unreadably', ids: new Set(['c1']), detail: 'not JSON' } as const
  expect(take(unreadable, 4)).toEqual(['command_moved'])
  const ack = toAck({ request_id: 'c1', status: 'completed' })
  if (ack.kind === 'ack') expect(take({ kind: 'acked', ack }, 4)).toEqual(['command_moved'])
  expect(take(request({ kind: 'desire', patch: { a: 1 }, mode: 'merge' }), 5)).toEqual([
    'shadow_changed',
    'publish',
  ])
  const none = { expectedVersion: undefined, clientToken: undefined, messageId: 'm' }
  expect(take({ kind: 'reported', patch: { a: 1 }, ...none }, 6)).toEqual([
    'shadow_changed',
    'publish',
    'publish',
  ])
  expect(take({ kind: 'reported', patch: {}, ...none, expectedVersion: 1 }, 6)).toEqual(['publish'])
  take(request({ kind: 'command', id: CommandId('c2'), wish: { name: 'go' } }), 7)
  expect(take(request({ kind: 'decommission' }), 8)).toEqual(['command_moved', 'announce', 'cut'])
  expect(device.commands.map(({ status }) => status)).toEqual(['completed', 'cancelled'])
  expect(take(request({ kind: 'desire', patch: { a: 2 }, mode: 'merge' }), 9)).toEqual(['refuse'])
})
