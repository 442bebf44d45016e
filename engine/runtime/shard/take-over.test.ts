import { expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { NEW_SHADOW } from '../../domain/shadow/record.ts'
import { LIMITS } from '../../limits.ts'
import { deviceOf, idOf, opened, START } from './testing/items.ts'
import { at, ShardBench } from './testing/shard.ts'

const shadow = (updatedAt: number, reported = {}) => ({
  ...NEW_SHADOW,
  version: 2,
  desired: { on: true },
  reported,
  updatedAt: Millis(updatedAt),
})
const DEVICES = [
  deviceOf('lacks', { status: 'online', shadow: shadow(START - 1) }),
  deviceOf('done', { status: 'online', shadow: shadow(START - 1, { on: true }) }),
  deviceOf('old', { status: 'online', shadow: shadow(START - LIMITS.takeOverMs - 1) }),
  deviceOf('gone', { status: 'decommissioned', statusSince: at(-1) }),
  deviceOf('long-gone', { status: 'decommissioned', statusSince: at(-LIMITS.takeOverMs - 1) }),
]

test('a new owner publishes recent shadows again and cuts off devices that were just decommissioned', () => {
  const bench = new ShardBench(DEVICES, { bootAt: Millis(0) })
  const { proposal } = bench.work({ sweep: at(1) })
  expect(
    proposal.outbound.map(({ deviceId, message: { suffix, retain, payload } }) => [
      ...[deviceId, suffix, retain],
      JSON.parse(Buffer.from(payload).toString()).state,
    ]),
  ).toEqual([
    ['lacks', 'shadow/desired', true, { on: true }],
    ['done', 'shadow/desired', true, {}],
  ])
  expect(proposal.cuts).toEqual(['gone'])
  const again = bench.work({ sweep: at(2) }).proposal
  expect([again.outbound, again.cuts]).toEqual([[], []])
})

test('a new owner ends sessions with revoked tokens, because the previous owner may not have done so', () => {
  const revoked = (id: string) => deviceOf(id, { status: 'online', tokensValidFrom: at(5) })
  // The previous owner had saved the effects of the connects.
  const replaying = new ShardBench([revoked('void'), revoked('valid')], { bootAt: Millis(0), applied: 1 })
  replaying.apply([opened('void', 10, at(4)), opened('valid', 10, at(5))])
  expect(replaying.work({ sweep: at(20) }).proposal.ended).toEqual(['void'])
  expect(replaying.work({ sweep: at(21) }).proposal.ended).toEqual([])

  const vitals = new Map(
    replaying.work({ vitals: true }).vitals.map(({ deviceId, bytes }) => [deviceId, bytes]),
  )
  const loading = (id: string) =>
    new ShardBench([revoked(id)], { bootAt: Millis(0), vitals: vitals.get(idOf(id)) ?? Buffer.alloc(0) })
  expect(loading('void').work({ sweep: at(30) }).proposal.ended).toEqual(['void'])
  expect(loading('valid').work({ sweep: at(30) }).proposal.ended).toEqual([])
})

test('nothing is sent again where all sessions ended with the process, because devices ask when they connect', () => {
  const { proposal } = new ShardBench(DEVICES).work({ sweep: at(1) })
  expect([proposal.outbound, proposal.cuts]).toEqual([[], []])
})

test('after a failover only a limited number of messages is sent per sweep', () => {
  const many = Array.from({ length: LIMITS.takeOverPerSweep + 1 }, (_, n) =>
    deviceOf(`d-${n}`, { status: 'online', shadow: shadow(START - 1) }),
  )
  const bench = new ShardBench(many, { bootAt: Millis(0) })
  const first = bench.work({ sweep: at(1) }).proposal.outbound
  const second = bench.work({ sweep: at(2) }).proposal.outbound
  expect([first.length, second.length]).toEqual([LIMITS.takeOverPerSweep, 1])
})
