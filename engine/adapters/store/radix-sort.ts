// Sorts slots by a number each, stably, in a few linear passes: a comparison sort of 50 000 takes ten times as long.
const DIGIT_BITS = 16
const DIGITS = 1 << DIGIT_BITS
/** Below, the passes over empty digits cost more than comparisons. */
const FEW = 4_096

/** `slots` ordered by `keyOf`, ties as they were. Keys are whole numbers. */
export function sortByKey(
  slots: Uint32Array,
  keyOf: (slot: number) => number,
  descending: boolean,
): Uint32Array {
  const keys = new Float64Array(slots.length)
  let low = Number.POSITIVE_INFINITY
  let high = Number.NEGATIVE_INFINITY
  for (let i = 0; i < slots.length; i++) {
    const key = keyOf(slots[i] ?? 0)
    keys[i] = key
    if (key < low) low = key
    if (key > high) high = key
  }
  for (let i = 0; i < keys.length; i++) keys[i] = descending ? high - (keys[i] ?? 0) : (keys[i] ?? 0) - low
  let order = Uint32Array.from(slots.keys())
  if (slots.length < FEW) order.sort((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0))
  else for (let unit = 1; unit <= high - low; unit *= DIGITS) order = sortByDigit(order, keys, unit)
  return order.map((i) => slots[i] ?? 0)
}

function sortByDigit(order: Uint32Array, keys: Float64Array, unit: number): Uint32Array<ArrayBuffer> {
  const starts = new Uint32Array(DIGITS + 1)
  const digitOf = (i: number) => Math.floor((keys[i] ?? 0) / unit) % DIGITS
  for (const i of order) {
    const digit = digitOf(i) + 1
    starts[digit] = (starts[digit] ?? 0) + 1
  }
  for (let d = 1; d <= DIGITS; d++) starts[d] = (starts[d] ?? 0) + (starts[d - 1] ?? 0)
  const sorted = new Uint32Array(order.length)
  for (const i of order) {
    const digit = digitOf(i)
    const at = starts[digit] ?? 0
    sorted[at] = i
    starts[digit] = at + 1
  }
  return sorted
}
