// The order of the dead letters: bounded in total and per device, each message once, read newest first.

import type { DeviceId } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type {
  DeadLetter,
  DeadLetterFilter,
  DeadLetterQuery,
  LetterName,
  LetterReason,
} from '../../ports/store.ts'
import { letterFits, reasonsOf } from './letter-reasons.ts'

interface ListedLetter extends Pick<DeadLetter, 'id' | 'deviceId' | 'reason' | 'receivedAt'> {
  readonly key: number
}

export class LetterList {
  readonly #lettersMax: number
  readonly #ids = new Set<string>()
  #listed: ListedLetter[] = []
  /** The same letters by device. A device that sends nothing but rubbish displaces only its own letters. */
  readonly #byDevice = new Map<DeviceId, ListedLetter[]>()
  readonly #overfull = new Set<DeviceId>()
  #dropped: number[] = []
  #nextKey = 1

  constructor(lettersMax: number) {
    this.#lettersMax = lettersMax
  }

  /** The letters not listed yet, each with the key to store it under. */
  assignKeys(
    letters: readonly DeadLetter[],
  ): readonly { readonly key: number; readonly letter: DeadLetter }[] {
    return letters.filter(({ id }) => !this.#ids.has(id)).map((letter) => ({ key: this.#nextKey++, letter }))
  }

  add(key: number, { id, deviceId, reason, receivedAt }: DeadLetter): void {
    this.#nextKey = Math.max(this.#nextKey, key + 1)
    const listed = { key, id, deviceId, reason, receivedAt }
    const own = this.#byDevice.get(deviceId) ?? []
    this.#byDevice.set(deviceId, own)
    own.push(listed)
    this.#listed.push(listed)
    this.#ids.add(id)
    if (own.length > LIMITS.deadLettersPerDeviceMax) this.#overfull.add(deviceId)
    // Dropped in lumps, so that a full list is not shifted for every letter.
    const isFull =
      this.#listed.length > this.#lettersMax * 1.1 || own.length > LIMITS.deadLettersPerDeviceMax * 1.1
    if (isFull) this.#drop()
  }

  /** Hands over the keys that are no longer listed, for removal. */
  takeDropped(): readonly number[] {
    this.#drop()
    return this.#dropped.splice(0)
  }

  /** Takes the keys back, because they could not be removed. */
  returnDropped(keys: readonly number[]): void {
    this.#dropped.push(...keys)
  }

  page(query: DeadLetterQuery): {
    readonly keys: readonly number[]
    readonly total: number
  } {
    this.#drop()
    const { offset, limit } = query
    const matching = this.#matching(query)
    const end = Math.max(0, matching.length - offset)
    const keys = matching.slice(Math.max(0, end - limit), end).map(({ key }) => key)
    return { keys: keys.reverse(), total: matching.length }
  }

  keyOf(id: string): number | undefined {
    this.#drop()
    return this.#ids.has(id) ? this.#listed.find((place) => place.id === id)?.key : undefined
  }

  reasons(filter: DeadLetterFilter): readonly LetterReason[] {
    this.#drop()
    return reasonsOf(this.#matching(filter))
  }

  /** The keys of those letters that are listed. */
  keysOf(names: readonly LetterName[]): readonly number[] {
    const ids = new Set(names.map(({ id }) => id).filter((id) => this.#ids.has(id)))
    return ids.size === 0 ? [] : this.#listed.flatMap(({ id, key }) => (ids.has(id) ? [key] : []))
  }

  keysOfDevices(deviceIds: readonly DeviceId[]): readonly number[] {
    return deviceIds.flatMap((id) => (this.#byDevice.get(id) ?? []).map(({ key }) => key))
  }

  /** Takes letters off the list that were removed from the store. */
  remove(keys: readonly number[]): void {
    if (keys.length === 0) return
    const removed = new Set(keys)
    const devices = new Set<DeviceId>()
    this.#listed = this.#listed.filter(({ key, id, deviceId }) => {
      if (!removed.has(key)) return true
      this.#ids.delete(id)
      devices.add(deviceId)
      return false
    })
    for (const deviceId of devices) {
      const own = (this.#byDevice.get(deviceId) ?? []).filter(({ key }) => !removed.has(key))
      if (own.length === 0) this.#byDevice.delete(deviceId)
      else this.#byDevice.set(deviceId, own)
    }
  }

  #matching(filter: DeadLetterFilter): readonly ListedLetter[] {
    const { deviceId, reason, before } = filter
    const listed = deviceId === undefined ? this.#listed : (this.#byDevice.get(deviceId) ?? [])
    if (reason === undefined && before === undefined) return listed
    return listed.filter((place) => letterFits(place, filter))
  }

  #drop(): void {
    this.#dropOverfull()
    for (const letter of this.#listed.splice(0, this.#listed.length - this.#lettersMax)) {
      const own = this.#byDevice.get(letter.deviceId)
      // The oldest of all is also the oldest of its device.
      own?.shift()
      if (own?.length === 0) this.#byDevice.delete(letter.deviceId)
      this.#forget(letter)
    }
  }

  #dropOverfull(): void {
    if (this.#overfull.size === 0) return
    const dropped = new Set<ListedLetter>()
    for (const deviceId of this.#overfull) {
      const own = this.#byDevice.get(deviceId) ?? []
      for (const letter of own.splice(0, own.length - LIMITS.deadLettersPerDeviceMax)) dropped.add(letter)
    }
    this.#overfull.clear()
    this.#listed = this.#listed.filter((letter) => !dropped.has(letter))
    for (const letter of dropped) this.#forget(letter)
  }

  #forget({ key, id }: ListedLetter): void {
    this.#dropped.push(key)
    this.#ids.delete(id)
  }
}
