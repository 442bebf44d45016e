import { expect, test } from 'vitest'
import { Partition } from '../../../schemas/ids.ts'
import { numberOfPlace } from '../../domain/audit/number.ts'
import { ITEM } from '../../domain/bundle.ts'
import type { DeviceRequest } from '../../domain/device/events.ts'
import type { WorkResult } from './protocol.ts'
import { packRequest } from './requests.ts'
import { idOf, START, type TestItem, telemetry } from './testing/items.ts'
import { online, ShardBench } from './testing/shard.ts'

const entry = {
  actor: { type: 'user', id: 'usr_1', name: 'a@example.com' },
  action: 'editDevice',
  target: 'devices/a',
  requestId: 'req_1',
  ip: '10.0.0.1',
  detail: { fields: ['name'] },
} as const

const signed = (id: string, at: number, request: DeviceRequest): TestItem => ({
  kind: ITEM.request,
  id,
  at,
  payload: packRequest({
    requestId: `r${at}`,
    deviceId: idOf(id),
    by: { kind: 'user', id: 'usr_1' },
    entry,
    request,
  }),
})
const edit: DeviceRequest = { kind: 'edit', replace: false, name: 'New' }
const audit = ({ proposal }: WorkResult) =>
  proposal.history
    .filter(({ kind }) => kind === 'audit')
    .map(({ body, ...key }) => ({ ...key, body: JSON.parse(body) }))

test('the audit entry of a signed request is saved together with what it did', () => {
  const result = new ShardBench([online]).apply([signed('a', 10, edit)])
  expect(result.proposal.changed.map(({ name }) => name)).toEqual(['New'])
  const number = numberOfPlace({ partition: Partition(0), seq: 1, index: 0 })
  expect(audit(result)).toEqual([
    {
      deviceId: 'a',
      kind: 'audit',
      at: (START + 10) * 1000,
      version: number,
      body: {
        id: `aud_${(START + 10).toString(36)}${number.toString(36)}`,
        at: new Date(START + 10).toISOString(),
        actor: entry.actor,
        action: 'editDevice',
        target: 'devices/a',
        device_id: 'a',
        outcome: 'success',
        code: null,
        request_id: 'req_1',
        ip: '10.0.0.1',
        count: 1,
        detail: { fields: ['name'] },
      },
    },
  ])
})

test('the audit entry of a refused request has the code, even if there is no such device', () => {
  const bench = new ShardBench([online])
  const again: DeviceRequest = { kind: 'register', name: 'x', type: 'simulator' }
  const result = bench.apply([signed('a', 10, again), signed('nobody', 11, edit)])
  expect(audit(result).map(({ body }) => [body.device_id, body.outcome, body.code])).toEqual([
    ['a', 'refused', 'ALREADY_EXISTS'],
    ['nobody', 'refused', 'NOT_FOUND'],
  ])
})

test('a request that is read again for its rows gets no second entry', () => {
  expect(audit(new ShardBench([online], { applied: 1 }).apply([signed('a', 10, edit)]))).toEqual([])
})

test('a message before the decommissioning in the log counts in a replay, even if it was received later', () => {
  const bench = new ShardBench([online])
  bench.apply([telemetry('a', 30, { n: 1 })])
  const { proposal } = bench.apply([signed('a', 20, { kind: 'decommission', reason: undefined })])
  expect(proposal.changed).toMatchObject([{ status: 'decommissioned', statusSince: START + 30 }])
})
