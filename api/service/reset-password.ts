// Sets a new password for a user who cannot log in. It runs on the machine of the service and needs access to its data.
import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import type { Clock } from '../../engine/ports/clock.ts'
import type { Users } from '../../engine/ports/users.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { Millis } from '../../schemas/ids.ts'
import { refuseCommon } from '../auth/common-passwords.ts'
import { normalEmail } from '../auth/normal-email.ts'
import { openPasswords } from '../auth/passwords.ts'
import type { MaintenanceResult } from './users-file.ts'

const PASSWORD_BYTES = 12

/** Reads the password from standard input if told to, otherwise generates one and prints it on standard output. */
export async function resetPassword(
  users: Users,
  email: string,
  { clock, readsPassword }: { readonly clock: Clock; readonly readsPassword: boolean },
): Promise<MaintenanceResult> {
  const user = users.getByEmail(normalEmail(email))
  if (user === undefined) return { kind: 'wrong', line: `there is no user with the e-mail ${email}` }
  const password = readsPassword ? await givenPassword() : randomBytes(PASSWORD_BYTES).toString('base64url')
  const { passwordCharsMin: min, passwordCharsMax: max } = BODY_LIMITS
  if (password.length < min || password.length > max)
    return {
      kind: 'wrong',
      line: `the password has ${password.length} characters; ${min} to ${max} are allowed`,
    }
  if (refuseCommon(password, user.email) !== undefined)
    return {
      kind: 'wrong',
      line: 'the password is one that everybody who guesses tries first; choose another one',
    }
  const passwordHash = await openPasswords().hash(password, 'reset')
  if (passwordHash === 'busy') throw new Error('nobody else hashes passwords in this process')
  const edited = await users.edit(user.id, (before) => ({
    ...before,
    passwordHash,
    // Revokes every token issued so far.
    tokensValidFrom: Millis(Math.max(clock.now(), before.tokensValidFrom) + 1),
  }))
  if (edited.kind !== 'edited')
    return { kind: 'wrong', line: `${email} was changed or deleted meanwhile; try again` }
  if (!readsPassword) process.stdout.write(`${password}\n`)
  const note = user.disabled ? '; the user is disabled, and an admin has to enable them' : ''
  return {
    kind: 'done',
    line: `${user.email} (${user.role}) has a new password and has to log in again${note}`,
  }
}

const givenPassword = async () => (await text(process.stdin)).replace(/\r?\n$/, '')
