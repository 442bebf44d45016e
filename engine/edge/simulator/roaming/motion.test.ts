import { expect, test } from 'vitest'
import { ARENA_M, type Body, createBody, hasArrived, step } from './motion.ts'
import { seeded } from './random.ts'

/** Returns the initial body followed by the body after each second. */
function live(start: Body, seconds: number, seed = 1): readonly Body[] {
  const random = seeded(seed)
  const lived = [start]
  for (let body = start; lived.length <= seconds; ) {
    body = step(body, 1, random)
    lived.push(body)
  }
  return lived
}

test('a device moves inside its arena, and every figure stays plausible for a day', () => {
  const isPlausible = ({ position, batteryPercent, temperature, rssi, load }: Body) =>
    Math.max(Math.abs(position.x), Math.abs(position.y)) <= ARENA_M &&
    batteryPercent > 0 &&
    batteryPercent <= 100 &&
    temperature > 10 &&
    temperature < 50 &&
    rssi >= -95 &&
    load >= 0 &&
    load <= 1
  expect(live(createBody(seeded(7)), 86_400).filter((body) => !isPlausible(body))).toEqual([])
})

test('a device has moved after a minute', () => {
  const lived = live(createBody(seeded(3)), 60)
  const path = lived.reduce((sum, { position }, index) => {
    const before = lived[index - 1]?.position ?? position
    return sum + Math.hypot(position.x - before.x, position.y - before.y)
  }, 0)
  expect(path).toBeGreaterThan(30)
})

test('a device with a low battery charges it and then drives again', () => {
  const modes = live({ ...createBody(seeded(2)), batteryPercent: 21 }, 1_000).map(({ mode }) => mode)
  expect(modes.indexOf('charging')).toBeGreaterThan(0)
  expect(modes.indexOf('driving', modes.indexOf('charging'))).toBeGreaterThan(0)
})

test('a device arrives at its target from any position and waits there', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = seeded(seed)
    const target = { x: random() * 60 - 30, y: random() * 60 - 30 }
    const lived = live({ ...createBody(random), target, batteryPercent: 90 }, 200, seed)
    expect(lived.some((body) => hasArrived(body, target))).toBe(true)
    expect(lived.at(-1)?.mode).toBe('idle')
  }
})

test('the same seed gives the same motion', () => {
  expect(live(createBody(seeded(5)), 100)).toEqual(live(createBody(seeded(5)), 100))
})
