// Makes random decisions that are the same in each run with the same seed. A draw depends on the seed, on the kind of
// decision, on the device and on the number of earlier draws of this kind. It never depends on the order of events,
// because networks and machines differ from run to run.

/** Returns a number that is uniform in [0, 1). `decision` is the kind of decision, `device` its index, and `nth` counts its
 *  draws of this kind. */
export function draw(seed: number, decision: number, device: number, nth: number): number {
  let mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(decision + 0x7f4a7c15, 0xc2b2ae35)
  mixed = Math.imul(mixed ^ (mixed >>> 15) ^ Math.imul(device + 1, 0x27d4eb2f), 0x2c1b3c6d)
  mixed = Math.imul(mixed ^ (mixed >>> 13) ^ Math.imul(nth + 1, 0x165667b1), 0x297a2d39)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b)
  return ((mixed ^ (mixed >>> 15)) >>> 0) / 4_294_967_296
}

/** Hashes a text (FNV-1a), so that a name can identify a kind of decision. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/** Returns a random permutation of 0 to `count` - 1. A share takes the devices whose place is below a limit, so that
 *  each share gets its exact number of devices. */
export function permutation(seed: number, decision: number, count: number): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, at) => at)
  for (let at = count - 1; at > 0; at--) {
    const other = Math.floor(draw(seed, decision, at, 0) * (at + 1))
    const moved = order[at] ?? 0
    order[at] = order[other] ?? 0
    order[other] = moved
  }
  return order
}

/** Returns the share that this place belongs to. Undefined if it belongs to none of them. */
export function shareOf<Share extends { readonly percent: number }>(
  shares: readonly Share[],
  place: number,
  count: number,
): Share | undefined {
  let end = 0
  for (const share of shares) {
    end += share.percent
    if (place < Math.round((end * count) / 100)) return share
  }
  return undefined
}
