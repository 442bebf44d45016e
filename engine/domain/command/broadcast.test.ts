import { expect, test } from 'vitest'
import { BroadcastId, parseDeviceId } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { type BroadcastMember, broadcastStatus, createBroadcast, skipMember, tally } from './broadcast.ts'
import { at } from './testing/command.ts'

const member = (name: string, fields: Partial<BroadcastMember> = {}): BroadcastMember => {
  const deviceId = parseDeviceId(name)
  if (deviceId === undefined) throw new Error(name)
  return { deviceId, status: 'online', ...fields }
}
const creation = { id: BroadcastId('bc_1'), by: 'usr_1', now: at(1_000) }

test('a broadcast becomes a command for each member that can take it, and lists the others with a reason', () => {
  const members = [
    member('a'),
    member('b', { status: 'decommissioned' }),
    member('c', { unfit: 'unknown_command' }),
    member('d', { status: 'offline' }),
  ]
  const outcome = createBroadcast({ group: 'w', name: 'stop', priority: 'critical' }, members, creation)
  if (outcome.kind !== 'created') throw new Error(outcome.code)
  expect(outcome.broadcast).toMatchObject({
    total: 4,
    accepted: 2,
    skipped: [
      { deviceId: 'b', reason: 'decommissioned' },
      { deviceId: 'c', reason: 'unknown_command' },
    ],
  })
  expect(outcome.requests.map(({ deviceId }) => deviceId)).toEqual(['a', 'd'])
  expect(outcome.requests[0]?.request).toMatchObject({
    name: 'stop',
    priority: 'critical',
    broadcastId: 'bc_1',
  })
  const full = skipMember(outcome.broadcast, { deviceId: member('d').deviceId, reason: 'queue_full' })
  expect([full.accepted, full.skipped.length]).toEqual([1, 3])
})

test.each([
  [[], []],
  [[member('b', { status: 'decommissioned' })], [{ device_id: 'b', reason: 'decommissioned' }]],
])(
  'a broadcast that no member can take is refused with the members and their reasons',
  (members, skipped) => {
    expect(createBroadcast({ group: 'typo', name: 'stop' }, members, creation)).toMatchObject({
      kind: 'refused',
      code: 'EMPTY_TARGET',
      detail: { group: 'typo', skipped },
    })
  },
)

test('a broadcast is paced unless it is critical', () => {
  const members = Array.from({ length: 10 }, (_, i) => member(`d${i}`))
  const turns = (fields: object) => {
    const outcome = createBroadcast({ group: 'w', name: 'go', perSec: 4, ...fields }, members, creation)
    return outcome.kind === 'created' ? outcome.requests.map(({ request: wish }) => wish.notBefore) : []
  }
  expect(turns({}).slice(0, 6)).toEqual([1_000, 1_250, 1_500, 1_750, 2_000, 2_250])
  expect(turns({ priority: 'critical' })).toEqual(members.map(() => undefined))
})

test('a broadcast to ten thousand devices is sent within ten seconds by default', () => {
  expect((10_000 - 1) / LIMITS.broadcastPerSecDefault).toBeLessThan(10)
})

test.each([
  [[], 'pending'],
  [['pending', 'pending'], 'pending'],
  [['pending', 'completed'], 'in_progress'],
  [['delivered'], 'in_progress'],
  [['acked'], 'in_progress'],
  [['completed', 'completed'], 'completed'],
  [['expired'], 'expired'],
  [['cancelled'], 'cancelled'],
  [['completed', 'failed'], 'partial'],
  [['expired', 'failed'], 'failed'],
] as const)('commands with the statuses %s make the broadcast %s', (children, status) => {
  expect(broadcastStatus(tally(children), { accepted: 2 })).toBe(status)
})

test('a broadcast that every member refused has failed', () => {
  expect(broadcastStatus(tally([]), { accepted: 0 })).toBe('failed')
})
