import { expect, test } from 'vitest'
import { type DeviceId, Millis } from '../../../schemas/ids.ts'
import { MemoryStore } from '../../adapters/store/testing/memory.ts'
import { emptyTally, type JobTally } from '../../domain/ota/tally.ts'
import { deployment } from '../../domain/ota/testing/deployment.ts'
import { partitionOf } from '../../domain/partition.ts'
import { NO_SAVE } from '../../ports/store.ts'
import { SimTime } from '../../testing/time.ts'
import { deploymentDocument } from './deployment-documents.ts'
import { Orchestrator } from './orchestrator.ts'

/** Leaders, one after the other, on one store. By default all jobs wait. */
function lead(
  store: MemoryStore,
  tally: Partial<JobTally> = { counts: { pending: 3 }, unfinished: 3 },
  /** Enlisting is answered once this resolves. */
  asked: Promise<void> = Promise.resolve(),
) {
  const time = new SimTime(Millis(1_000_000))
  const enlisted: string[] = []
  const cancelled: DeviceId[] = []
  const granted: DeviceId[] = []
  const failures: unknown[] = []
  let rounds = 0
  const orchestrator = new Orchestrator({
    ...{ store, clock: time, schedule: time.newIncarnation().schedule },
    claims: [],
    firmwares: { get: () => undefined, all: () => [] },
    submit: async (deviceId, request) => {
      if (request.kind === 'ota_enlist') enlisted.push(`${deviceId} in stage ${request.plan.stage}`)
      if (request.kind === 'ota_cancel') cancelled.push(deviceId)
      if (request.kind === 'ota_grant') granted.push(deviceId)
      if (request.kind === 'ota_enlist') await asked
      return { kind: 'refused', code: 'NOT_FOUND', detail: {} }
    },
    tallies: async ([id]) => (id === undefined ? [] : [{ ...emptyTally(id, 0), ...tally }]),
    firmwareOf: async () => [],
    gateValues: async () => [],
    roundTook: () => void rounds++,
    downloadsMax: 100,
    retentionMs: 1_000,
    record: async () => undefined,
    failed: (error) => failures.push(error),
  })
  return { orchestrator, time, enlisted, cancelled, granted, failures, rounds: () => rounds }
}

const named = (stage: number, count: number) =>
  Array.from({ length: count }, (_, n) => `device-${stage}-${n}` as DeviceId)

test('a large deployment is enlisted without pauses, each member once and with its stage', async () => {
  const { orchestrator, enlisted, failures } = lead(new MemoryStore({ partitionOf }))
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

test('another leader enlists nobody again: a device may have forgotten a job that ended long ago', async () => {
  const store = new MemoryStore({ partitionOf })
  const first = lead(store)
  await first.orchestrator.open()
  await first.orchestrator.begin(deployment({ total: 3 }), { stages: [named(0, 3)], skipped: [] })
  await expect.poll(() => first.enlisted.length).toBe(3)
  await first.orchestrator.inTurn(async () => first.orchestrator.close())
  const second = lead(store)
  await second.orchestrator.open()
  await expect.poll(() => second.rounds()).toBe(1)
  second.orchestrator.close()
  expect([second.orchestrator.openCount(), second.enlisted, second.failures]).toEqual([1, [], []])
})

test('a job that was begun again while its deployment ended is cancelled: nobody would give it a place', async () => {
  const store = new MemoryStore({ partitionOf })
  const ended = deployment({ status: 'failed', finishedAt: Millis(1_000_000), counts: { failed: 1 } })
  await store.save({ ...NO_SAVE, documents: [deploymentDocument(ended)] })
  const stoppable = ['device-1' as DeviceId]
  const { orchestrator, cancelled, rounds } = lead(store, {
    counts: { pending: 1 },
    unfinished: 1,
    stoppable,
  })
  await orchestrator.open()
  await expect.poll(rounds).toBe(1)
  orchestrator.close()
  expect(cancelled).toEqual(stoppable)
})

test('while places are given, the next round begins soon, and otherwise after a rest', async () => {
  const busy = { deviceId: 'device-0-0' as DeviceId, parentId: undefined, grants: 0 }
  const waiting = { counts: { pending: 1 }, unfinished: 1, ready: 1, candidates: [{ ...busy, since: 0 }] }
  const roundsWithin = async (ms: number, tally: Partial<JobTally>) => {
    const { orchestrator, time, rounds, failures } = lead(new MemoryStore({ partitionOf }), tally)
    await orchestrator.open()
    await orchestrator.begin(deployment({ total: 1 }), { stages: [named(0, 1)], skipped: [] })
    await time.advance(1_000)
    const before = rounds()
    await time.advance(ms)
    orchestrator.close()
    expect(failures).toEqual([])
    return rounds() - before
  }
  expect(await roundsWithin(5_000, waiting)).toBeGreaterThan(90)
  expect(await roundsWithin(5_000, { ...waiting, ready: 0, candidates: [] })).toBeLessThan(12)
})

test('places are given while members are still asked to take their jobs', async () => {
  const first = 'device-0-0' as DeviceId
  const candidates = [{ deviceId: first, parentId: undefined, grants: 0, since: 0 }]
  const waiting = { counts: { pending: 1 }, unfinished: 1, ready: 1, candidates }
  let answer = () => {}
  const asked = new Promise<void>((resolve) => {
    answer = resolve
  })
  const { orchestrator, granted, enlisted } = lead(new MemoryStore({ partitionOf }), waiting, asked)
  await orchestrator.open()
  await orchestrator.begin(deployment({ total: 2_000 }), { stages: [named(0, 2_000)], skipped: [] })
  await expect.poll(() => granted).toEqual([first])
  expect(enlisted.length).toBeLessThan(2_000)
  answer()
  orchestrator.close()
})
