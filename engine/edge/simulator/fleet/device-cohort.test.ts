import { expect, test } from 'vitest'
import { readScenario } from '../scenario/read-scenario.ts'
import { DeviceCohort } from './device-cohort.ts'
import { Fleet } from './fleet.ts'

const TEXT = `
types:
  - type: mqtt_device
    count: 30
    id_prefix: s
    group: 'site/{n%3}'
    via: gateway
    per_gateway: 20
    telemetry: { fields: { a: walk, b: { kind: enum, values: [x, y] }, c: counter } }
    firmware: { behaviours: [{ percent: 10, kind: brick }, { percent: 20, kind: slow }] }
    faults: [{ percent: 50, kind: stuck }]
`

function scenario() {
  const read = readScenario({ text: TEXT, readFile: () => '' })
  if (read.kind === 'refused') throw new Error(JSON.stringify(read.problems))
  return read.scenario
}

/** Returns all random decisions about the devices and their first messages. */
function decided(seed: number): readonly unknown[] {
  const [plan] = scenario().types
  if (plan === undefined) throw new Error('the scenario has no type')
  const cohort = new DeviceCohort(plan, seed)
  return Array.from({ length: 30 }, (_, index) => [
    ...[cohort.behaviourOf(index).kind, cohort.faultOf(index)?.kind, cohort.isTarget(index, 50)],
    ...[0, 1, 2].map((nth) => cohort.text(index, nth, { elapsedSec: nth, stamp: '' })),
  ])
}

test('the same seed makes the same decisions for every device, and another seed makes others', () => {
  expect(decided(1)).toEqual(decided(1))
  expect(decided(2)).not.toEqual(decided(1))
  const kinds = decided(1).map((each) => Reflect.get(Object(each), 0))
  expect(kinds.filter((kind) => kind === 'brick')).toHaveLength(3)
  expect(kinds.filter((kind) => kind === 'slow')).toHaveLength(6)
})

test('gateways are registered before their sub-devices, which need no sockets', () => {
  const fleet = new Fleet(scenario())
  expect(fleet.sockets).toBe(2)
  const registrations = fleet.registrations()
  expect(registrations.slice(0, 2).map(({ id, type, parentId }) => [id, type, parentId])).toEqual([
    ['s-gw-001', 'gateway', undefined],
    ['s-gw-002', 'gateway', undefined],
  ])
  expect(
    [2, 21, 22].map((at) => registrations[at]).map((one) => [one?.id, one?.parentId, one?.group]),
  ).toEqual([
    ['s-001', 's-gw-001', 'site/1'],
    ['s-020', 's-gw-001', 'site/2'],
    ['s-021', 's-gw-002', 'site/0'],
  ])
})

test('the text of a message is a JSON object of its fields', () => {
  const [plan] = scenario().types
  if (plan === undefined) throw new Error('the scenario has no type')
  const cohort = new DeviceCohort(plan, 1)
  expect(JSON.parse(cohort.text(0, 4, { elapsedSec: 1, stamp: 't' }))).toEqual({
    ...{ timestamp: 't', a: expect.any(Number), b: expect.stringMatching(/^[xy]$/), c: 4 },
  })
})
