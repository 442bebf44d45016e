import { expect, test } from 'vitest'
import type { FeedEvent, Wants } from '../ports/feed.ts'
import { LocalFeed, NO_WANTS } from './feed.ts'
import { idOf, START } from './shard/testing/items.ts'

const event: FeedEvent = { kind: 'telemetry', deviceId: idOf('a'), at: START, data: {}, seq: 1 }

test('each listener hears every batch until it stops; an empty batch is not told', () => {
  const feed = new LocalFeed(
    () => {},
    () => {},
  )
  const heard: string[] = []
  const stop = feed.listen(() => heard.push('first'))
  feed.listen(() => heard.push('second'))
  feed.publish([event])
  stop()
  feed.publish([])
  feed.publish([event])
  expect(heard).toEqual(['first', 'second', 'second'])
})

test('a listener that throws does not keep events from the others', () => {
  const errors: unknown[] = []
  const feed = new LocalFeed(
    () => {},
    (error) => errors.push(error),
  )
  let heard = 0
  feed.listen(() => {
    throw new Error('a bug')
  })
  feed.listen(() => heard++)
  feed.publish([event])
  expect([errors.length, heard]).toEqual([1, 1])
})

test('sets that the caller changes after its subscription do not change the subscription', () => {
  const wanted: Wants[] = []
  const feed = new LocalFeed(
    (wants) => wanted.push(wants),
    () => {},
  )
  const devices = new Set([idOf('a')])
  feed.want({ ...NO_WANTS, log: { all: false, devices } })
  devices.clear()
  expect(wanted).toEqual([{ ...NO_WANTS, log: { all: false, devices: new Set(['a']) } }])
})
