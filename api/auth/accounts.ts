// Accounts: registration, login, renewal and logout. Independent of HTTP.

import { networkOf } from '../../engine/domain/network-of.ts'
import { LIMITS } from '../../engine/limits.ts'
import type { AddUserResult, LoginOrigin, RefreshGrant, User } from '../../engine/ports/users.ts'
import type { RegisterBody } from '../../schemas/auth.ts'
import { Millis, UserId } from '../../schemas/ids.ts'
import type { Role } from '../../schemas/vocabulary.ts'
import type { RateShares } from '../rates/rate-shares.ts'
import { type Refusal, refused } from '../refusal.ts'
import { type AccountEdits, createAccountEdits } from './account-edits.ts'
import type { Authentication } from './authenticate.ts'
import { refuseCommon } from './common-passwords.ts'
import { type Attempt, LoginLimiter } from './login-limiter.ts'
import { createLogins, type Logins, type LoginsOptions, type OpenedLogin } from './logins.ts'
import { normalEmail } from './normal-email.ts'
import { hashingBusy, type Passwords } from './passwords.ts'

/** [contract 2.3] Who may register: anyone, the first user and then admins, or admins alone. */
export type Registration = 'open' | 'bootstrap' | 'locked'

export interface AccountsOptions extends LoginsOptions {
  readonly passwords: Passwords
  readonly registration: Registration
  /** Undefined if this is the only node. */
  readonly rateShares: RateShares | undefined
}

export interface Accounts extends AccountEdits {
  register(
    body: RegisterBody,
    registrant: Registrant,
  ): Promise<{ readonly kind: 'registered'; readonly user: User } | Refusal>
  login(about: {
    readonly email: string
    readonly password: string
    readonly from: LoginOrigin
    /** True if the request was sent from this machine. */
    readonly isLocal: boolean
    readonly browser?: RefreshGrant['browser']
  }): Promise<OpenedLogin | Refusal>
  loginWithTicket(
    proven: Extract<Authentication, { readonly kind: 'user' }>,
    about: { readonly from: LoginOrigin; readonly browser?: RefreshGrant['browser'] },
  ): Promise<OpenedLogin | Refusal>
  readonly logins: Logins
  /** Ends one login, or all logins of the user if no refresh token is given. */
  logout(userId: UserId, refreshToken: string | undefined): Promise<void>
}

export function createAccounts(options: AccountsOptions): Accounts {
  const { users, passwords, clock } = options
  const logins = createLogins(options)
  const limiter = new LoginLimiter(clock, options.rateShares)
  const edits = createAccountEdits({ ...options, limiter })
  return {
    ...edits,

    async register(body, registrant) {
      const role = await roleOfNewUser(options, body, registrant)
      if (role.kind === 'refused') return role
      const email = normalEmail(body.email)
      const unfit = refuseCommon(body.password, email)
      if (unfit !== undefined) return unfit
      if (users.getByEmail(email) !== undefined) return registrationRefusal('email_taken')
      // An admin may register many users in a row, and so may programs of this machine.
      const isLimited = role.by === undefined && !registrant.isLocal
      const limited = isLimited ? limiter.refuseHash(networkOf(registrant.ip)) : undefined
      if (limited !== undefined) return limited
      const passwordHash = await passwords.hash(body.password, role.by ?? networkOf(registrant.ip))
      if (passwordHash === 'busy') return hashingBusy()
      const user = newUser(options, { ...body, email, role: role.role, passwordHash })
      const added = await users.add(user, { onlyIfNone: role.onlyIfNone })
      return added === 'added' ? { kind: 'registered', user } : registrationRefusal(added)
    },

    async login({ email, password, from, isLocal, browser }) {
      const attempt = attemptOf(users, { from: networkOf(from.ip), account: normalEmail(email) })
      // Programs of this machine need no limit besides: its cores are theirs, and the queue of hashes lets others take turns.
      const limited = (isLocal ? undefined : limiter.refuseHash(attempt.from)) ?? limiter.refuse(attempt)
      if (limited !== undefined) return limited
      // Another node may just have created or changed the account.
      await users.catchUp()
      const user = users.getByEmail(normalEmail(email))
      const isRight = await passwords.verify(password, user?.passwordHash, attempt.from)
      if (isRight === 'busy') {
        limiter.refund(attempt)
        return hashingBusy()
      }
      const proven =
        isRight && user !== undefined
          ? await noteLogin(options, user.id, (now) => now.passwordHash === user.passwordHash)
          : undefined
      if (proven === undefined) return refused('INVALID_CREDENTIALS')
      limiter.succeeded(attempt)
      return await logins.open(proven.user, { at: proven.at, from, browser })
    },

    async loginWithTicket({ user, current }, about) {
      const proven = await noteLogin(options, user.id, () => current() !== undefined)
      if (proven === undefined)
        return refused('UNAUTHENTICATED', {
          message: 'the ticket is void since the user has changed; log in',
        })
      return await logins.open(proven.user, { ...about, at: proven.at })
    },

    logins,

    async logout(userId, refreshToken) {
      if (refreshToken === undefined) await edits.revoke(userId)
      else await logins.end(userId, refreshToken)
    },
  }
}

/** The limiter forgets at a restart, and does not learn of logins at other nodes. The account's logins are known to all. */
function attemptOf(users: AccountsOptions['users'], attempt: Attempt): Attempt {
  const user = users.getByEmail(attempt.account)
  const logins = user === undefined ? [] : users.grantsOf(user.id)
  return {
    ...attempt,
    isKnown: logins.some(({ from }) => from !== undefined && networkOf(from.ip) === attempt.from),
  }
}

/** Resolves with undefined if the record changed so that an earlier check, for example of the password, is outdated. */
async function noteLogin({ users, clock }: AccountsOptions, id: UserId, isProven: (user: User) => boolean) {
  const proven: { at: Millis | undefined } = { at: undefined }
  const edited = await users.edit(id, (user) => {
    proven.at = undefined
    if (user.disabled || !isProven(user)) return user
    proven.at = Millis(Math.max(clock.now(), user.tokensValidFrom))
    return { ...user, lastLoginAt: proven.at }
  })
  const { at } = proven
  return edited.kind === 'kept' || at === undefined ? undefined : { user: edited.user, at }
}

/** The sender of a registration. */
export interface Registrant {
  /** Finds the user of the bearer token. Called only if the registration mode needs it. */
  authenticate(): Promise<Authentication | undefined>
  /** True if the request was sent from this machine. */
  readonly isLocal: boolean
  readonly ip: string
}

type NewRole =
  | {
      readonly kind: 'role'
      readonly role: Role
      readonly onlyIfNone: boolean
      /** The admin who registers another user. */
      readonly by: UserId | undefined
    }
  | Refusal

/** [contract 2.3] The three modes of registration. */
async function roleOfNewUser(
  { users, registration }: AccountsOptions,
  { role = 'viewer' }: RegisterBody,
  { authenticate, isLocal }: Registrant,
): Promise<NewRole> {
  if (registration === 'open' && isLocal) return { kind: 'role', role, onlyIfNone: false, by: undefined }
  if (registration === 'bootstrap' && users.count() === 0)
    return { kind: 'role', role: 'admin', onlyIfNone: true, by: undefined }
  const caller = await authenticate()
  if (caller?.kind === 'refused') return caller
  if (caller?.user.role === 'admin') return { kind: 'role', role, onlyIfNone: false, by: caller.user.id }
  return registration === 'open' ? remoteRegistration() : registrationRefusal('not_the_first')
}

/** Without this check, anyone in the network, or a web page open on this machine, could create an admin. */
const remoteRegistration = () =>
  refused('REGISTRATION_LOCKED', {
    message:
      'open registration is for requests from the machine itself; from elsewhere set FLEET_REGISTRATION=bootstrap, or have an admin register new users',
  })

export function newUser(
  { ids, clock }: Pick<AccountsOptions, 'ids' | 'clock'>,
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

function registrationRefusal(why: Exclude<AddUserResult, 'added'>): Refusal {
  if (why === 'not_the_first')
    return refused('REGISTRATION_LOCKED', { message: 'an admin has to register new users' })
  if (why === 'full')
    return refused('LIMIT_REACHED', {
      message: `there are ${LIMITS.usersMax} users; delete some first`,
      limit: LIMITS.usersMax,
    })
  return refused('ALREADY_EXISTS', { message: 'there is a user with this e-mail' })
}
