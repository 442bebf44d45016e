import { expect, test } from 'vitest'
import { type DeviceId, Millis } from '../../../schemas/ids.ts'
import { MemoryStore } from '../../adapters/store/testing/memory.ts'
import { deployment } from '../../domain/ota/testing/deployment.ts'
import { partitionOf } from '../../domain/partition.ts'
import { SimTime } from '../../testing/time.ts'
import { Orchestrator } from './orchestrator.ts'

test('a large deployment is enlisted without pauses, each member once and with its stage', async () => {
  const time = new SimTime(Millis(1_000_000))
  const enlisted: string[] = []
  const failures: unknown[] = []
  const orchestrator = new Orchestrator({
    store: new MemoryStore({ partitionOf }),
    claims: [],
    firmwares: { get: () => undefined, all: () => [] },
    clock: time,
    schedule: time.newIncarnation().schedule,
    submit: async (deviceId, request) => {
      if (request.kind === 'ota_enlist') enlisted.push(`${deviceId} in stage ${request.plan.stage}`)
      return { kind: 'refused', code: 'NOT_FOUND', detail: {} }
    },
    tallies: async () => [],
    firmwareOf: async () => [],
    gateValues: async () => [],
    roundTook: () => undefined,
    downloadsMax: 100,
    retentionMs: 1_000,
    record: async () => undefined,
    failed: (error) => failures.push(error),
  })
  const named = (stage: number, count: number) =>
    Array.from({ length: count }, (_, n) => `device-${stage}-${n}` as DeviceId)
  await orchestrator.open()
  await orchestrator.begin(deployment({ total: 2_600 }), {
    stages: [named(0, 50), named(1, 2_550)],
    skipped: [],
  })
  // No time passes.
  await expect.poll(() => enlisted.length).toBe(2_600)
  expect(failures).toEqual([])
  expect(new Set(enlisted).size).toBe(2_600)
  expect(enlisted.slice(48, 52)).toEqual([
    'device-0-48 in stage 0',
    'device-0-49 in stage 0',
    'device-1-0 in stage 1',
    'device-1-1 in stage 1',
  ])
  orchestrator.close()
})
