// Creates the first admin at start if there are no users, so that somebody can log in to a new service.
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../engine/ports/clock.ts'
import type { Users } from '../../engine/ports/users.ts'
import type { UserId } from '../../schemas/ids.ts'
import type { Ids } from '../ids.ts'
import { newUser, type Registration } from './accounts.ts'
import { normalEmail } from './normal-email.ts'
import type { Passwords } from './passwords.ts'

const EMAIL = 'admin@fleet.local'
const PASSWORD_BYTES = 12

export interface FirstAdmin {
  readonly id: UserId
  readonly email: string
  /** Set only if the password was generated and is to be shown. */
  readonly generatedPassword: string | undefined
  /** The file with the generated password, if the password is not to be shown. */
  readonly passwordFile: string | undefined
}

/** Resolves with undefined if there are users already, if the first user to register becomes admin (`bootstrap`), or if
 *  there is no way to hand over the password. */
export async function createFirstAdmin(options: {
  readonly users: Users
  readonly passwords: Passwords
  readonly ids: Ids
  readonly clock: Clock
  readonly settings: {
    readonly adminEmail: string | undefined
    readonly adminPassword: string | undefined
    readonly registration: Registration
  }
  /** How a generated password is handed over. The function writes it to a file and returns the path. */
  readonly handOver: 'shown' | ((password: string) => string) | undefined
}): Promise<FirstAdmin | undefined> {
  const { users, passwords, settings, handOver } = options
  const { adminEmail, adminPassword } = settings
  const isNamed = adminEmail !== undefined || adminPassword !== undefined
  if (users.count() > 0 || (settings.registration === 'bootstrap' && !isNamed)) return undefined
  const generatedPassword =
    adminPassword === undefined ? randomBytes(PASSWORD_BYTES).toString('base64url') : undefined
  if (generatedPassword !== undefined && handOver === undefined) return undefined
  const passwordHash = await passwords.hash(adminPassword ?? generatedPassword ?? '', 'start')
  if (passwordHash === 'busy') throw new Error('the first admin is made before anyone else can log in')
  const email = normalEmail(adminEmail ?? EMAIL)
  const user = newUser(options, { email, name: 'Admin', role: 'admin', passwordHash })
  // Written before the user is created. After a crash in between, the next start replaces the file.
  const passwordFile =
    generatedPassword !== undefined && typeof handOver === 'function'
      ? handOver(generatedPassword)
      : undefined
  const shown = passwordFile === undefined ? generatedPassword : undefined
  const added = await users.add(user, { onlyIfNone: true })
  return added === 'added' ? { id: user.id, email, generatedPassword: shown, passwordFile } : undefined
}
