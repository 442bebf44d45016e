// The system clock. Only the composition root imports it; everything else receives a clock.
import { performance } from 'node:perf_hooks'
import type { Clock } from '../../engine/ports/clock.ts'
import { steadyClock } from './steady-clock.ts'

export const systemClock: Clock = steadyClock({
  wall: () => Date.now(),
  ticks: () => performance.now(),
  onDoubt: (aheadMs, isBelieved) => {
    const ahead = `the clock of this machine went ahead by ${Math.round(aheadMs / 1000)} s`
    process.emitWarning(
      isBelieved
        ? `${ahead} and stayed there, so that is the time now`
        : `${ahead}: its time counts if it stays so for a minute`,
    )
  },
})
