import { expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { deployment } from '../../domain/ota/testing/deployment.ts'
import { SimTime } from '../../testing/time.ts'
import { DeploymentNews } from './deployment-news.ts'

function openNews() {
  const time = new SimTime(Millis(1_000_000))
  const { schedule } = time.newIncarnation()
  const failures: unknown[] = []
  const news = new DeploymentNews({ clock: time, schedule, failed: (error) => failures.push(error) })
  const told: string[] = []
  news.listen(({ event, deployment: { counts }, previous }) => {
    told.push([event, counts.succeeded ?? 0, previous ?? ''].join(' ').trim())
  })
  return { time, news, told, failures }
}

const at = (succeeded: number, more: object = {}) => deployment({ counts: { succeeded }, ...more })

test('progress is told at most once a second, and the latest always is', async () => {
  const { time, news, told } = openNews()
  news.learned(undefined, at(0))
  for (const succeeded of [1, 2, 3]) news.learned(at(succeeded - 1), at(succeeded))
  expect(told).toEqual(['deployment.created 0'])
  await time.advance(1_000)
  expect(told).toEqual(['deployment.created 0', 'deployment.progress 3'])
  await time.advance(5_000)
  news.learned(at(3), at(4))
  expect(told.at(-1)).toBe('deployment.progress 4')
})

test('a change of status is told at once and replaces progress that waits', async () => {
  const { time, news, told } = openNews()
  news.learned(at(0), at(1))
  news.learned(at(1), at(2))
  news.learned(at(2), at(3, { status: 'completed' }))
  expect(told).toEqual(['deployment.progress 1', 'deployment.status 3 in_progress'])
  await time.advance(5_000)
  expect(told).toHaveLength(2)
})

test('a listener that fails does not keep events from the others', () => {
  const { news, told, failures } = openNews()
  news.listen(() => {
    throw new Error('mine')
  })
  news.learned(undefined, at(0))
  expect([told, failures.length]).toEqual([['deployment.created 0'], 1])
})
