// What a store keeps in memory of the saved data. It changes only after a write has succeeded, in the order of the writes.
import type { DeviceId, Partition } from '../../../schemas/ids.ts'
import type { DeviceRecord } from '../../domain/device/record.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { Positions } from '../../ports/log.ts'
import type { Checkpoint, Claim, DeadLetter, LateHour, Save } from '../../ports/store.ts'
import { DeviceIndex } from './index/device-index.ts'
import { LetterList } from './letter-list.ts'

/** Returns the partition that a device belongs to. */
export type PartitionOf = (id: DeviceRecord['id']) => Partition

export interface NumberedLetter {
  readonly key: number
  readonly letter: DeadLetter
}

export class SavedState {
  readonly #partitionOf: PartitionOf
  readonly #applied = new Array<number>(LIMITS.partitions).fill(0)
  readonly #inserted = new Array<number>(LIMITS.partitions).fill(0)
  readonly #epochs = new Array<number>(LIMITS.partitions).fill(0)
  /** Late marks of each device, keyed as `keyOfLate` does. */
  readonly #late = new Map<DeviceId, Map<string, LateHour>>()
  readonly index = new DeviceIndex()
  readonly letters = new LetterList(LIMITS.deadLettersMax)
  readonly facts = new Map<string, string>()

  constructor(partitionOf: PartitionOf) {
    this.#partitionOf = partitionOf
  }

  applied(): Positions {
    return this.#applied.slice()
  }

  inserted(): Positions {
    return this.#inserted.slice()
  }

  epochs(): Positions {
    return this.#epochs.slice()
  }

  lateHours(): readonly LateHour[] {
    return [...this.#late.values()].flatMap((marks) => [...marks.values()])
  }

  lateHoursOf(deviceId: DeviceId): readonly LateHour[] {
    return [...(this.#late.get(deviceId)?.values() ?? [])]
  }

  putDevice(device: DeviceRecord): void {
    this.index.put(device, this.index.partitionOf(device.id) ?? this.#partitionOf(device.id))
  }

  saved(save: Save, letters: readonly NumberedLetter[]): void {
    this.reached(save.applied)
    this.forget(save.removed)
    for (const device of save.changed) this.putDevice(device)
    for (const { key, letter } of letters) this.letters.add(key, letter)
    this.addLate(save.late)
  }

  /** Does not touch dead letters, which are removed by their keys. */
  forget(deviceIds: readonly DeviceId[]): void {
    for (const id of deviceIds) {
      this.index.remove(id)
      this.#late.delete(id)
    }
  }

  /** Throws if a later owner has claimed one of these partitions. */
  checkClaims(claims: readonly Claim[]): void {
    for (const { partition, epoch } of claims) {
      const latest = this.#epochs[partition] ?? 0
      if (latest > epoch) throw outdated(partition)
    }
  }

  claimed(claims: readonly Claim[]): void {
    for (const { partition, epoch } of claims) this.#epochs[partition] = epoch
  }

  reached(applied: Save['applied']): void {
    for (const { partition, seq } of applied) this.#applied[partition] = seq
  }

  checkpointed(inserted: Checkpoint['inserted']): void {
    for (const { partition, seq } of inserted) this.#inserted[partition] = seq
  }

  addLate(hours: readonly LateHour[]): void {
    for (const late of hours) {
      const known = this.#late.get(late.deviceId) ?? new Map<string, LateHour>()
      this.#late.set(late.deviceId, known.set(keyOfLate(late), late))
    }
  }

  removeLate(hours: readonly LateHour[]): void {
    for (const late of hours) {
      const known = this.#late.get(late.deviceId)
      known?.delete(keyOfLate(late))
      if (known?.size === 0) this.#late.delete(late.deviceId)
    }
  }
}

export function keyOfLate({ deviceId, hour, until }: LateHour): string {
  return until === undefined ? `${deviceId}/${hour}` : `${deviceId}/${hour}-${until}`
}

function outdated(partition: number): Fault {
  return new Fault('STORE_FENCED', {
    retryable: false,
    message: `partition ${partition} has another owner by now: this shard may not write it any more`,
  })
}
