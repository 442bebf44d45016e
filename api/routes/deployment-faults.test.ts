// A rollout while the store is unavailable.
import { expect, test } from 'vitest'
import { Fault } from '../../engine/ports/fault.ts'
import { many, openDeploying } from '../testing/deploying.ts'

test('a rollout pauses while the store is unavailable, and no device is told twice or counted wrongly', async () => {
  const { deploy, engine, ends, until, fleet, clock } = await openDeploying(many(4))
  const save = engine.store.save.bind(engine.store)
  let failed = 0
  const { body } = await deploy({ max_concurrent: 2 })
  const id = body.deployment_id
  await until(id, ({ status }) => status === 'in_progress')
  engine.store.save = async () => {
    failed++
    throw new Fault('STORE_UNAVAILABLE', { retryable: true })
  }
  // The service could not answer meanwhile, so no request is sent.
  const failures = async (count: number) => {
    for (let i = 0; failed < count; i++) {
      if (i > 10_000) throw new Error(`it tried to save ${failed} times`)
      clock.at += i % 3 === 0 ? 1_000 : 0
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  // Changes are saved before anything is sent, so no further device is told.
  await failures(3)
  const told = fleet.flatMap((device) => device.received).length
  await failures(6)
  expect(fleet.flatMap((device) => device.received)).toHaveLength(told)
  expect(told).toBeLessThan(4)
  engine.store.save = save
  // The service retries after a while.
  for (let i = 0; fleet.some((device) => device.received.length === 0) && i < 5_000; i++) {
    clock.at += i % 3 === 0 ? 1_000 : 0
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await ends(id)).toMatchObject({ status: 'completed', progress: { succeeded: 4, failed: 0 } })
  expect(fleet.map((device) => device.received.map(({ attempt }) => attempt))).toEqual([[1], [1], [1], [1]])
})
