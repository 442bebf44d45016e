// What a shard counts about its work.
import type { ShardCounts } from './protocol.ts'

export type MutableCounts = { -readonly [Name in keyof ShardCounts]: number }

export function emptyCounts(): MutableCounts {
  return {
    stored: 0,
    points: 0,
    refused: 0,
    ignored: 0,
    adjusted: 0,
    droppedPoints: 0,
    busyMs: 0,
    encodeMs: 0,
    evaluations: 0,
    alertsMs: 0,
  }
}
