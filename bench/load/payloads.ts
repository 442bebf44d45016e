// Payloads of the simulated devices: eight numbers, about 130 bytes, no timestamp. Values are random walks with a sensor's
// precision. All payloads have the same length, so that packets can be encoded in advance and located by arithmetic.

export const LEAVES = 8
/** A metric that is in every payload, so its points count the messages. */
export const COUNTED_METRIC = 'rssi'
export const METRICS = [
  'battery.percent',
  'battery.volts',
  'pose.x',
  'pose.y',
  'pose.heading',
  'speed',
  'temperature',
  COUNTED_METRIC,
] as const

/** Generates `count` payloads. The same seed gives the same bytes. */
export function makePayloads(count: number, seed = 1): readonly Buffer[] {
  const random = lcg(seed)
  const walk = (from: number, to: number, step: number, digits: number): (() => string) => {
    let value = from + (to - from) * random()
    return () => {
      value += Math.round(random() * 6 - 3) * step
      value = Math.min(to, Math.max(from, value))
      return value.toFixed(digits)
    }
  }
  const percent = walk(20, 99.5, 0.1, 1)
  const volts = walk(11, 13.9, 0.01, 2)
  const x = walk(10, 99, 0.013, 3)
  const y = walk(10, 99, 0.017, 3)
  const heading = walk(0, 6.28, 0.01, 3)
  const speed = walk(0, 2, 0.021, 3)
  const temperature = walk(20, 80, 0.1, 1)
  const rssi = walk(-90, -40, 1, 0)
  return Array.from({ length: count }, () =>
    Buffer.from(
      `{"battery":{"percent":${percent()},"volts":${volts()}},"pose":{"x":${x()},"y":${y()},"heading":${heading()}},` +
        `"speed":${speed()},"temperature":${temperature()},"rssi":${rssi()}}`,
    ),
  )
}

function lcg(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
