import { expect, test } from 'vitest'
import { steadyClock } from './steady-clock.ts'

const NOW = Date.UTC(2026, 0, 1)
const IN_2060 = Date.UTC(2060, 0, 1)

function setUp() {
  const time = { passed: 0, offset: 0 }
  const doubts: boolean[] = []
  const clock = steadyClock({
    wall: () => NOW + time.passed + time.offset,
    ticks: () => time.passed,
    onDoubt: (_, isBelieved) => doubts.push(isBelieved),
  })
  const at = (passed: number, offset = time.offset) => {
    time.passed = passed
    time.offset = offset
    return clock.now() - NOW
  }
  return { at, doubts }
}

test('a wrong reading far ahead changes nothing, and is reported once', () => {
  const { at, doubts } = setUp()
  expect([at(10), at(20, IN_2060 - NOW), at(30), at(40, 0), at(50)]).toEqual([10, 20, 30, 40, 50])
  expect(doubts).toEqual([false])
})

test('a reading that stays ahead counts after a minute', () => {
  const { at, doubts } = setUp()
  const hour = 3_600_000
  expect([at(10, hour), at(30_000), at(60_000)]).toEqual([10, 30_000, 60_000])
  expect([at(60_010), at(60_020)]).toEqual([60_010 + hour, 60_020 + hour])
  expect(doubts).toEqual([false, true])
})

test('readings that are ahead by a different amount each time never count', () => {
  const { at } = setUp()
  for (let i = 1; i < 20; i++) expect(at(i * 10_000, i * 3_600_000)).toBe(i * 10_000)
})

test('small corrections and a clock that is set back count at once', () => {
  const { at, doubts } = setUp()
  expect([at(10, 299_000), at(20, 0), at(30, -86_400_000), at(40)]).toEqual([
    299_010, 20, -86_399_970, -86_399_960,
  ])
  expect(doubts).toEqual([])
})
