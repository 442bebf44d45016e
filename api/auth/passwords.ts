// Hashes passwords with argon2id, a few at a time. Each hash takes 16 ms of a core and 19 MiB, so further logins wait in a
// bounded queue. When it is full, logins are refused.
import { hash, verify } from '@node-rs/argon2'
import { type Refusal, refused } from '../refusal.ts'
import { FairQueue } from './fair-queue.ts'

/** `caller` is an address or a user. Callers take turns, so that one with many requests does not delay the others. */
export interface Passwords {
  hash(password: string, caller: string): Promise<string | 'busy'>
  /** Without a hash the result is false after the usual time, so that timing does not reveal an unknown e-mail. */
  verify(password: string, hashed: string | undefined, caller: string): Promise<boolean | 'busy'>
}

const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** A hash that matches no password. Verifying against it takes as long as against a real one. */
const DUMMY = `$argon2id$v=19$m=${COST.memoryCost},t=${COST.timeCost},p=${COST.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`

export interface Argon2 {
  hash(password: string, cost: typeof COST): Promise<string>
  verify(hashed: string, password: string): Promise<boolean>
}

export function openPasswords(argon2: Argon2 = { hash, verify }): Passwords {
  const queue = new FairQueue()
  return {
    hash: (password, caller) => queue.run(caller, () => argon2.hash(normalised(password), COST)),
    verify: (password, hashed, caller) =>
      queue.run(caller, async () => {
        const isRight = await argon2.verify(hashed ?? DUMMY, normalised(password))
        return isRight && hashed !== undefined
      }),
  }
}

/** Normalises a password, because systems may compose its Unicode characters differently. */
const normalised = (password: string) => password.normalize('NFKC')

export const hashingBusy = (): Refusal =>
  refused('RATE_LIMIT_EXCEEDED', {
    message: 'too many passwords are being checked; try again',
    retry_after_sec: 1,
  })
