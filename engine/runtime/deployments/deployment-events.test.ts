import { expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { deployment } from '../../domain/ota/testing/deployment.ts'
import { SimTime } from '../../testing/time.ts'
import { DeploymentEvents } from './deployment-events.ts'

function openEvents() {
  const time = new SimTime(Millis(1_000_000))
  const { schedule } = time.newIncarnation()
  const failures: unknown[] = []
  const events = new DeploymentEvents({ clock: time, schedule, failed: (error) => failures.push(error) })
  const published: string[] = []
  events.listen(({ event, deployment: { counts }, previous }) => {
    published.push([event, counts.succeeded ?? 0, previous ?? ''].join(' ').trim())
  })
  return { time, events, published, failures }
}

const at = (succeeded: number, more: object = {}) => deployment({ counts: { succeeded }, ...more })

test('progress is told at most once a second, and the latest always is', async () => {
  const { time, events, published } = openEvents()
  events.changed(undefined, at(0))
  for (const succeeded of [1, 2, 3]) events.changed(at(succeeded - 1), at(succeeded))
  expect(published).toEqual(['deployment.created 0'])
  await time.advance(1_000)
  expect(published).toEqual(['deployment.created 0', 'deployment.progress 3'])
  await time.advance(5_000)
  events.changed(at(3), at(4))
  expect(published.at(-1)).toBe('deployment.progress 4')
})

test('a change of status is told at once and replaces progress that waits', async () => {
  const { time, events, published } = openEvents()
  events.changed(at(0), at(1))
  events.changed(at(1), at(2))
  events.changed(at(2), at(3, { status: 'completed' }))
  expect(published).toEqual(['deployment.progress 1', 'deployment.status 3 in_progress'])
  await time.advance(5_000)
  expect(published).toHaveLength(2)
})

test('a listener that fails does not keep events from the others', () => {
  const { events, published, failures } = openEvents()
  events.listen(() => {
    throw new Error('mine')
  })
  events.changed(undefined, at(0))
  expect([published, failures.length]).toEqual([['deployment.created 0'], 1])
})
