import type { Position } from './protocol.ts'

/** Positions only grow, in whatever order entries are read again. */
export function raise(positions: number[] | Float64Array, { partition, seq }: Position): void {
  positions[partition] = Math.max(positions[partition] ?? 0, seq)
}
