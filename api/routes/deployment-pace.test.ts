// How fast deployments go, over the real engine.
import { expect, test } from 'vitest'
import { many, openDeploying } from '../testing/deploying.ts'

test('no more jobs start within a minute than the rate allows', async () => {
  const { deploy, ends, fleet } = await openDeploying(many(5))
  const { body } = await deploy({ rate_per_minute: 2, stable_sec: 0 })
  expect(await ends(body.deployment_id)).toMatchObject({ status: 'completed', progress: { succeeded: 5 } })
  const starts = fleet
    .flatMap(({ received: told }) => told.map(({ issued_at: at }) => Date.parse(String(at))))
    .sort()
  expect(starts).toHaveLength(5)
  for (const [i, at] of starts.slice(2).entries())
    expect(at - Number(starts[i])).toBeGreaterThanOrEqual(60_000)
  // Within that minute, they did not wait for each other.
  expect(Number(starts[1]) - Number(starts[0])).toBeLessThan(60_000)
})

test('a ramp starts with one job, and continues with more once that has succeeded', async () => {
  const { deploy, ends, send } = await openDeploying(many(7))
  const { body } = await deploy({ max_concurrent: 4, ramp: { start: 1, factor: 2 } })
  const id = body.deployment_id
  expect(body).toMatchObject({ max_concurrent: 4, window: 1 })
  expect(await ends(id)).toMatchObject({ status: 'completed', progress: { succeeded: 7 } })
  const { data } = (await send(`GET /api/v1/ota/deployments/${id}/devices`)).body
  const jobs = (data as readonly { notified_at: string; finished_at: string }[])
    .map((job) => ({ from: Date.parse(job.notified_at), to: Date.parse(job.finished_at) }))
    .sort((a, b) => a.from - b.from)
  const beside = jobs.map(({ from }) => jobs.filter((job) => job.from <= from && from < job.to).length)
  expect(beside[0]).toBe(1)
  expect(Number(jobs[1]?.from)).toBeGreaterThanOrEqual(Number(jobs[0]?.to))
  // Two after the first success, four after two more successes.
  expect(Math.max(...beside.slice(1, 3))).toBe(2)
  expect(Math.max(...beside)).toBeGreaterThan(2)
  expect(Math.max(...beside)).toBeLessThanOrEqual(4)
})
