// Generates the values of telemetry fields. Pure: a value follows from the seed, the device, the number of its earlier
// messages and the time since the start. Only a walk also needs its previous value.
import type { Json } from '../../../../schemas/json.ts'
import type { Generator } from '../scenario/scenario.ts'
import { draw } from './draw.ts'

export interface Moment {
  readonly seed: number
  /** The hash of the field name. */
  readonly decision: number
  readonly device: number
  /** The number of earlier messages of this device. */
  readonly nth: number
  readonly elapsedSec: number
}

const METRES_PER_DEGREE = 111_320

/** `walked` is the previous value of a walk. NaN at the start. */
export function generate(generator: Generator, moment: Moment, walked = Number.NaN): Json {
  const { seed, decision, device, nth, elapsedSec } = moment
  switch (generator.kind) {
    case 'constant':
      return generator.value
    case 'walk':
      return walk(generator, moment, walked)
    case 'sine': {
      const { min, max, periodSec, digits } = generator
      const turn = elapsedSec / periodSec + draw(seed, decision, device, 0)
      return round((min + max) / 2 + ((max - min) / 2) * Math.sin(2 * Math.PI * turn), digits)
    }
    case 'ramp': {
      const { from, to, periodSec, digits } = generator
      return round(from + (to - from) * ((elapsedSec / periodSec) % 1), digits)
    }
    case 'enum': {
      const { values, holdSec } = generator
      const turn = holdSec > 0 ? Math.floor(elapsedSec / holdSec) : nth
      return values[Math.floor(draw(seed, decision, device, turn) * values.length)] ?? null
    }
    case 'counter':
      return generator.start + generator.step * nth
    case 'gps':
      return position(generator, draw(seed, decision, device, 0), elapsedSec)
    case 'csv': {
      const { values } = generator
      return (
        values[(Math.floor(draw(seed, decision, device, 0) * values.length) + nth) % values.length] ?? null
      )
    }
  }
}

function walk(
  { start, step, min, max, digits }: Extract<Generator, { kind: 'walk' }>,
  { seed, decision, device, nth }: Moment,
  walked: number,
): number {
  if (Number.isNaN(walked)) return round(start ?? min + (max - min) * draw(seed, decision, device, 0), digits)
  const moved = walked + (draw(seed, decision, device, nth + 1) * 2 - 1) * step
  // The walk is reflected at its bounds.
  const inside = moved > max ? 2 * max - moved : moved < min ? 2 * min - moved : moved
  return round(Math.min(max, Math.max(min, inside)), digits)
}

function position(
  { lat, lon, radiusM, speedMps }: Extract<Generator, { kind: 'gps' }>,
  start: number,
  elapsedSec: number,
): Json {
  const angle = 2 * Math.PI * start + (speedMps * elapsedSec) / radiusM
  const north = (radiusM * Math.sin(angle)) / METRES_PER_DEGREE
  const east = (radiusM * Math.cos(angle)) / (METRES_PER_DEGREE * Math.cos((lat * Math.PI) / 180))
  return { lat: round(lat + north, 6), lon: round(lon + east, 6) }
}

const POWERS = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]

function round(value: number, digits: number): number {
  const power = POWERS[digits] ?? 1
  return Math.round(value * power) / power
}
