// Sends dead letters again, through the ingress and the log like a new message. A payload without a timestamp gets the
// time of the replay.
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { ORIGIN_BYTES } from '../domain/bundle.ts'
import { partitionOf } from '../domain/partition.ts'
import { replayWay } from '../domain/replay-way.ts'
import { type DeadLetter, type LetterName, NO_SAVE, type Store } from '../ports/store.ts'
import type { Ingest } from './ingress/ingest.ts'

export interface ReplayPorts {
  readonly store: Pick<Store, 'save'>
  readonly ingest: Pick<Ingest, 'replayed'>
}

/** Keeps the order of a device's letters. Letters are removed once they are durable in the log (replays Y1). */
export async function replayLetters(
  { store, ingest }: ReplayPorts,
  letters: readonly DeadLetter[],
): Promise<void> {
  await Promise.all(
    letters.map(async (letter) => {
      const way = replayWay(letter)
      if (way === undefined) throw new RangeError(`${letter.id} cannot be replayed`)
      const { deviceId, via, suffix } = way
      const device = { partition: partitionOf(deviceId), idBytes: latin1(deviceId) }
      const origin = createHash('sha256').update(letter.id).digest().subarray(0, ORIGIN_BYTES)
      const item = { via: latin1(via ?? ''), origin, suffix: Buffer.from(suffix), payload: letter.payload }
      await ingest.replayed(device, item)
    }),
  )
  await discardLetters({ store }, letters)
}

export async function discardLetters(
  { store }: Pick<ReplayPorts, 'store'>,
  letters: readonly LetterName[],
): Promise<void> {
  const lettersGone = letters.map(({ id, deviceId }) => ({ id, deviceId }))
  if (lettersGone.length > 0) await store.save({ ...NO_SAVE, lettersRemoved: lettersGone })
}

const latin1 = (text: string) => Buffer.from(text, 'latin1')
