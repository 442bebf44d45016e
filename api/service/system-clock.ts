// The system clock. Only the composition root imports it; everything else receives a clock.
import { performance } from 'node:perf_hooks'
import type { Clock } from '../../engine/ports/clock.ts'
import { Millis } from '../../schemas/ids.ts'

export const systemClock: Clock = {
  now: () => Millis(Date.now()),
  ticks: () => performance.now(),
}
