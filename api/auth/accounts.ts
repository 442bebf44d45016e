// Accounts: who may register, who is logged in, how a login is renewed and ended. Knows no HTTP.
import type { Clock } from '../../engine/ports/clock.ts'
import type { User, Users } from '../../engine/ports/users.ts'
import type { RegisterBody } from '../../schemas/auth.ts'
import { Millis, UserId } from '../../schemas/ids.ts'
import type { Role } from '../../schemas/vocabulary.ts'
import { type Refusal, refused } from '../http/answer.ts'
import type { Ids } from '../ids.ts'
import type { Registration } from '../settings.ts'
import { LoginLimiter } from './login-limiter.ts'
import { createLogins } from './logins.ts'
import type { Passwords } from './passwords.ts'
import type { Tokens } from './tokens.ts'

export interface AccountsOptions {
  readonly users: Users
  readonly passwords: Passwords
  readonly tokens: Tokens
  readonly ids: Ids
  readonly clock: Clock
  readonly registration: Registration
}

export interface LoggedIn {
  readonly kind: 'logged_in'
  readonly userId: UserId
  readonly accessToken: string
  readonly refreshToken: string
}

export interface Accounts {
  /** `caller` is whoever's bearer token came along; asked only when the mode needs one. */
  register(
    body: RegisterBody,
    caller: () => Promise<User | Refusal | undefined>,
  ): Promise<{ readonly kind: 'registered'; readonly user: User } | Refusal>
  login(about: {
    readonly email: string
    readonly password: string
    readonly ip: string
  }): Promise<LoggedIn | Refusal>
  refresh(refreshToken: string): Promise<LoggedIn | Refusal>
  /** Ends one login, or all of the user's if no refresh token is named. */
  logout(user: User, refreshToken: string | undefined): Promise<void>
}

export function createAccounts(options: AccountsOptions): Accounts {
  const { users, passwords, clock } = options
  const logins = createLogins(options)
  const limiter = new LoginLimiter(clock)
  return {
    async register(body, caller) {
      const role = await roleOfNewUser(options, body, caller)
      if (role.kind === 'refused') return role
      const email = normalEmail(body.email)
      if (users.getByEmail(email) !== undefined) return emailTaken()
      const passwordHash = await passwords.hash(body.password)
      if (passwordHash === 'busy') return busy()
      const user = newUser(options, { ...body, email, role: role.role, passwordHash })
      if (await users.put(user, { onlyIfNone: role.onlyIfNone })) return { kind: 'registered', user }
      return role.onlyIfNone && users.count() > 0 ? registrationLocked() : emailTaken()
    },

    async login({ email, password, ip }) {
      const key = `${ip} ${normalEmail(email)}`
      const waitSec = limiter.take(key)
      if (waitSec > 0)
        return refused('RATE_LIMIT_EXCEEDED', {
          message: 'too many login attempts',
          retry_after_sec: waitSec,
        })
      const user = users.getByEmail(normalEmail(email))
      const right = await passwords.verify(password, user?.passwordHash)
      if (right === 'busy') return busy()
      // The record may have changed while the password was hashed.
      const current = user === undefined ? undefined : users.get(user.id)
      if (!right || current === undefined || current.disabled || current.passwordHash !== user?.passwordHash)
        return refused('INVALID_CREDENTIALS')
      limiter.giveBack(key)
      await users.put({ ...current, lastLoginAt: clock.now() })
      return await logins.open(current)
    },

    refresh: (refreshToken) => logins.renew(refreshToken),
    logout: (user, refreshToken) => logins.end(user, refreshToken),
  }
}

/** Whitespace around an address is a slip; letter case has no meaning. */
export function normalEmail(email: string): string {
  return email.trim().toLowerCase()
}

type NewRole = { readonly kind: 'role'; readonly role: Role; readonly onlyIfNone: boolean } | Refusal

/** [contract 2.3] The three modes of registration. */
async function roleOfNewUser(
  { users, registration }: AccountsOptions,
  { role = 'viewer' }: RegisterBody,
  caller: () => Promise<User | Refusal | undefined>,
): Promise<NewRole> {
  if (registration === 'open') return { kind: 'role', role, onlyIfNone: false }
  if (registration === 'bootstrap' && users.count() === 0)
    return { kind: 'role', role: 'admin', onlyIfNone: true }
  const user = await caller()
  if (user !== undefined && 'kind' in user) return user
  return user?.role === 'admin' ? { kind: 'role', role, onlyIfNone: false } : registrationLocked()
}

export function newUser(
  { ids, clock }: { readonly ids: Ids; readonly clock: Clock },
  about: Pick<User, 'email' | 'name' | 'role' | 'passwordHash'>,
): User {
  const now = clock.now()
  return {
    id: UserId(ids.next('usr_')),
    email: about.email,
    name: about.name.trim(),
    role: about.role,
    groups: [],
    passwordHash: about.passwordHash,
    disabled: false,
    createdAt: now,
    lastLoginAt: undefined,
    tokensValidFrom: Millis(now),
  }
}

const emailTaken = () => refused('ALREADY_EXISTS', { message: 'there is a user with this e-mail' })
const registrationLocked = () =>
  refused('REGISTRATION_LOCKED', { message: 'an admin has to register new users' })
const busy = () => refused('RATE_LIMIT_EXCEEDED', { message: 'too many logins at once', retry_after_sec: 1 })
