// How a shard handles messages on `ota/status` that change no job.
import { describe, expect, test } from 'vitest'
import { DeploymentId } from '../../../schemas/ids.ts'
import { updateAt } from '../../domain/ota/testing/updated-device.ts'
import { deviceOf, idOf, request, type TestItem, telemetry } from './testing/items.ts'
import { online, ShardBench } from './testing/shard.ts'

const said = (at: number, payload: string | Uint8Array): TestItem => ({
  ...telemetry('a', at, {}),
  suffix: 'ota/status',
  payload: Buffer.from(payload),
})
const MALFORMED = ['MALFORMED_OTA_STATUS', 'a status of an update is a JSON object in UTF-8']

describe('the status of an update', () => {
  test.each([
    ['nothing', ''],
    ['a bare word', 'succeeded'],
    ['JSON that was cut short', '{"deployment_id":"dep_1","status":"succ'],
    ['a JSON text', '"succeeded"'],
    ['a number', '100'],
    ['null', 'null'],
    ['a list', '[{"deployment_id":"dep_1","status":"succeeded"}]'],
    ['two objects', '{"status":"downloading"}{"status":"downloaded"}'],
    ['bytes that are no UTF-8', Buffer.from('{"status":"\xff"}', 'latin1')],
    ['UTF-16', Buffer.from('{"status":"failed"}', 'utf16le')],
  ])('that is %s is parked with its reason and its payload', (_, payload) => {
    const { proposal, counts } = new ShardBench([online]).apply([said(1, payload)])
    expect(proposal.deadLetters.map(({ topic, reason, detail }) => [topic, reason, detail])).toEqual([
      ['fleet/a/ota/status', ...MALFORMED],
    ])
    expect(Buffer.from(proposal.deadLetters[0]?.payload ?? [])).toEqual(Buffer.from(payload))
    expect([counts.refused, proposal.changed]).toEqual([1, []])
  })

  test.each([
    ['an unknown word', '{"deployment_id":"dep_1","status":"exploded"}'],
    ['an unknown deployment', '{"deployment_id":"dep_9","status":"succeeded"}'],
    ['no deployment', '{"status":"succeeded"}'],
  ])('with %s is counted and changes nothing', (_, payload) => {
    const { proposal, counts } = new ShardBench([online]).apply([said(1, payload)])
    expect([proposal.deadLetters, proposal.changed, counts.ignored]).toEqual([[], [], 1])
  })

  test('a sub-device’s status is parked for the sub-device, with the topic that was used', () => {
    const gateway = deviceOf('gw', { type: 'gateway', status: 'online' })
    const bench = new ShardBench([gateway, deviceOf('a', { parentId: gateway.id, status: 'online' })])
    const { proposal } = bench.apply([{ ...said(1, 'done'), via: 'gw' }])
    expect(proposal.deadLetters.map(({ deviceId, topic, reason }) => [deviceId, topic, reason])).toEqual([
      ['a', 'fleet/gw/sub/a/ota/status', 'MALFORMED_OTA_STATUS'],
    ])
  })
})

describe('progress of an update', () => {
  const { firmware } = updateAt('downloading').device
  const [job] = firmware.jobs
  const deploymentId = job?.plan.deploymentId
  const says = (at: number, report: object) =>
    said(at, JSON.stringify({ deployment_id: deploymentId, ...report }))
  const progressIn = (bench: ShardBench) =>
    bench.ask({ kind: 'firmware', deviceIds: [idOf('a')] })[0]?.firmware.jobs[0]?.progress

  test('causes no save, and is kept with the next change of the job', () => {
    const bench = new ShardBench([deviceOf('a', { status: 'online', firmwareVersion: '1.0', firmware })])
    // The second report comes too soon to be told.
    const [first, second] = [
      says(1, { status: 'downloading', progress: 40 }),
      says(2, { status: 'downloading', progress: 60 }),
    ]
    expect(bench.apply([first, second]).proposal.changed).toEqual([])
    expect(progressIn(bench)).toBe(job?.progress)
    bench.apply([says(3, { status: 'downloaded' })])
    expect(progressIn(bench)).toBe(60)
  })

  test('is kept if the job moves for another reason, and gives way to what a later report says', () => {
    const begun = () => {
      const bench = new ShardBench([deviceOf('a', { status: 'online', firmwareVersion: '1.0', firmware })])
      bench.apply([1, 2].map((ms) => says(ms, { status: 'downloading', progress: 60 })))
      return bench
    }
    const [cancelled, going] = [begun(), begun()]
    // The job names it.
    const id = DeploymentId(String(deploymentId))
    cancelled.apply([request('a', 3, { kind: 'ota_cancel', deploymentId: id, code: 'CANCELLED' })])
    expect(progressIn(cancelled)).toBe(60)
    going.apply([says(3, { status: 'downloaded', progress: 100 }), says(4, { status: 'installing' })])
    expect(progressIn(going)).toBe(100)
  })

  test('belongs to its attempt and does not count for another one', () => {
    const again = { ...firmware, jobs: firmware.jobs.map((each) => ({ ...each, attempt: 2 })) }
    const bench = new ShardBench([
      deviceOf('a', { status: 'online', firmwareVersion: '1.0', firmware: again }),
    ])
    bench.apply([says(1, { status: 'downloading', attempt: 1, progress: 40 })])
    bench.apply([says(2, { status: 'downloaded' })])
    expect(progressIn(bench)).toBe(job?.progress)
  })
})
