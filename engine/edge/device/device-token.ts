// The token that the device logs in with. When its end is near, the service says so on `error`. The device then asks for
// another one, which takes the place of the token that the program was given, also after a restart.
import type { JsonObject } from '../../../schemas/json.ts'
import { type DeviceStorage, readJson, writeJson } from './storage.ts'

const NAME = 'token.json'

export class DeviceToken {
  readonly #storage: DeviceStorage
  readonly #given: string
  #current: string

  private constructor(storage: DeviceStorage, given: string, current: string) {
    this.#storage = storage
    this.#given = given
    this.#current = current
  }

  static async open(storage: DeviceStorage, given: string): Promise<DeviceToken> {
    const kept = Object(await readJson(storage, NAME)) as Readonly<Record<string, unknown>>
    // A program that is given another token has it from somebody who knows better: the one before may be revoked.
    const isRenewed = kept['given'] === given && typeof kept['mqtt_token'] === 'string'
    return new DeviceToken(storage, given, isRenewed ? String(kept['mqtt_token']) : given)
  }

  /** The one to log in with at the next connection. */
  get current(): string {
    return this.#current
  }

  /** Takes a message on `token/accepted`. Rejects if the token could not be stored; it is used until the next restart then. */
  async take({ mqtt_token: token }: JsonObject): Promise<void> {
    if (typeof token !== 'string') return
    this.#current = token
    await writeJson(this.#storage, NAME, { given: this.#given, mqtt_token: token })
  }
}
