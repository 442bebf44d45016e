import type { Position } from './protocol.ts'

/** Raises a partition's position. It never falls, even if entries are read again. */
export function raise(positions: number[] | Float64Array, { partition, seq }: Position): void {
  positions[partition] = Math.max(positions[partition] ?? 0, seq)
}
