// The real time, for the composition root to hand around.
import { performance } from 'node:perf_hooks'
import type { Clock } from '../../engine/ports/clock.ts'
import { Millis } from '../../schemas/ids.ts'

export const systemClock: Clock = {
  now: () => Millis(Date.now()),
  ticks: () => performance.now(),
}
