// Makes series of numbers: values like a sensor's, and the worst case for compression.

export type SeriesKind = 'walk' | 'random'

/** Returns a source of values: a random walk in steps of 0.1, or numbers that use all their digits. */
export function makeSeries(kind: SeriesKind, seed: number): () => number {
  const random = xorshift(seed)
  if (kind === 'random') return () => random() * 1000
  let tenths = Math.floor(random() * 1000)
  return () => {
    tenths += Math.floor(random() * 3) - 1
    return tenths / 10
  }
}

// These numbers are incompressible, unlike those of a plain linear congruential generator, whose low bits repeat.
export function xorshift(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b1) | 1
  const next = (): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
  return () => (next() * 2 ** 21 + (next() >>> 11)) / 2 ** 53
}
