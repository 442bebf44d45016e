// Password hashes: argon2id, few at a time. Hashing costs 16 ms of a core and 19 MiB each, so a flood of logins
// waits in a bounded queue and is turned away beyond it.
import { randomBytes } from 'node:crypto'
import { hash, verify } from '@node-rs/argon2'
import { LIMITS } from '../../engine/limits.ts'

export interface Passwords {
  hash(password: string): Promise<string | 'busy'>
  /** Without a hash it takes as long and says no: an unknown e-mail cannot be told by its answer time. */
  verify(password: string, hashed: string | undefined): Promise<boolean | 'busy'>
}

const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const DUMMY_BYTES = 16

export function openPasswords(): Passwords {
  const queue = new HashQueue()
  let dummy: Promise<string> | undefined
  return {
    hash: (password) => queue.run(() => hash(normalised(password), COST)),
    verify: (password, hashed) =>
      queue.run(async () => {
        if (hashed !== undefined) return await verify(hashed, normalised(password))
        dummy ??= hash(randomBytes(DUMMY_BYTES), COST)
        await verify(await dummy, normalised(password))
        return false
      }),
  }
}

/** The same letters typed on another system are the same password. */
const normalised = (password: string) => password.normalize('NFKC')

class HashQueue {
  #running = 0
  readonly #waiting: (() => void)[] = []

  async run<T>(work: () => Promise<T>): Promise<T | 'busy'> {
    if (this.#running >= LIMITS.hashesAtOnceMax) {
      if (this.#waiting.length >= LIMITS.hashesWaitingMax) return 'busy'
      // Whoever is done passes its place on, so `#running` stays.
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else this.#running++
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
