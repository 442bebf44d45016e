// Password hashes with argon2id, few at a time. Each takes 16 ms of a core and 19 MiB, so many logins wait in a bounded
// queue and are refused beyond it.
import { hash, verify } from '@node-rs/argon2'
import { type Refusal, refused } from '../refusal.ts'
import { FairQueue } from './fair-queue.ts'

/** `who` asks: an address or a user. They take turns, so that one of them who asks a lot keeps nobody else waiting. */
export interface Passwords {
  hash(password: string, who: string): Promise<string | 'busy'>
  /** Takes as long without a hash, and fails, so that the time of an answer does not reveal an unknown e-mail. */
  verify(password: string, hashed: string | undefined, who: string): Promise<boolean | 'busy'>
}

const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** A hash of no password, with the same cost: verifying against it takes as long as against a real one. */
const DUMMY = `$argon2id$v=19$m=${COST.memoryCost},t=${COST.timeCost},p=${COST.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`

export interface Argon2 {
  hash(password: string, cost: typeof COST): Promise<string>
  verify(hashed: string, password: string): Promise<boolean>
}

export function openPasswords(argon2: Argon2 = { hash, verify }): Passwords {
  const queue = new FairQueue()
  return {
    hash: (password, who) => queue.run(who, () => argon2.hash(normalised(password), COST)),
    verify: (password, hashed, who) =>
      queue.run(who, async () => {
        const isRight = await argon2.verify(hashed ?? DUMMY, normalised(password))
        return isRight && hashed !== undefined
      }),
  }
}

/** Normalises a password, since other systems may compose its letters differently. */
const normalised = (password: string) => password.normalize('NFKC')

export const hashingBusy = (): Refusal =>
  refused('RATE_LIMIT_EXCEEDED', {
    message: 'too many passwords are being checked; try again',
    retry_after_sec: 1,
  })
