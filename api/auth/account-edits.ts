// Changes to existing accounts by an admin or by the user, including logouts.
//
// A1. A new password, a new role or a lock revokes every earlier token and login, in the same write.
// A2. A body may have more fields than its schema. Only the fields listed here get into a record.
import type { EditUserResult, User } from '../../engine/ports/users.ts'
import { Millis, type UserId } from '../../schemas/ids.ts'
import type { EditOwnBody, EditUserBody } from '../../schemas/users.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'
import { refuseCommon } from './common-passwords.ts'
import type { LoginLimiter } from './login-limiter.ts'
import type { LoginsOptions } from './logins.ts'
import { normalEmail } from './normal-email.ts'
import { hashingBusy, type Passwords } from './passwords.ts'

export type EditedUser = { readonly kind: 'edited'; readonly user: User } | Refusal

export interface AccountEdits {
  edit(id: UserId, body: EditUserBody, by: UserId): Promise<EditedUser>
  /** Sensitive changes need the current password, so that a thief of a token cannot make them. */
  editOwn(id: UserId, body: EditOwnBody): Promise<EditedUser>
  remove(id: UserId): Promise<EditedUser>
  /** Revokes every token and login of the user. */
  revoke(id: UserId): Promise<void>
}

export interface AccountEditsOptions extends Pick<LoginsOptions, 'users' | 'clock'> {
  readonly passwords: Passwords
  readonly limiter: LoginLimiter
}

export function createAccountEdits(options: AccountEditsOptions): AccountEdits {
  const { users, clock, passwords } = options

  async function change(id: UserId, toUser: (user: User) => User): Promise<EditedUser> {
    const edited = await users.edit(id, (before) => {
      const after = toUser(before)
      return isRevoking(before, after) ? withTokensRevoked(after, clock.now()) : after
    })
    return toResult(edited)
  }

  async function withHash(
    wanted: Change,
    password: string | undefined,
    caller: string,
  ): Promise<Change | 'busy'> {
    if (password === undefined) return wanted
    const passwordHash = await passwords.hash(password, caller)
    return passwordHash === 'busy' ? 'busy' : { ...wanted, passwordHash }
  }

  return {
    async edit(id, { role, groups, disabled, ...body }, by) {
      await users.catchUp()
      const user = users.get(id)
      if (user === undefined) return userNotFound()
      const unfit = refuseUnfit(body, user)
      if (unfit !== undefined) return unfit
      const wanted = await withHash({ ...profileOf(body), role, groups, disabled }, body.password, by)
      return wanted === 'busy' ? hashingBusy() : await change(id, (user) => applyChange(user, wanted))
    },

    async editOwn(id, { current_password: presented, ...body }) {
      const user = users.get(id)
      if (user === undefined) return userNotFound()
      const unfit = refuseUnfit(body, user)
      if (unfit !== undefined) return unfit
      const isSensitive = body.password !== undefined || body.email !== undefined
      const refusal = isSensitive ? await refuseUnproven(options, user, presented) : undefined
      if (refusal !== undefined) return refusal
      const wanted = await withHash(profileOf(body), body.password, id)
      if (wanted === 'busy') return hashingBusy()
      let isProven = true
      const edited = await change(id, (now) => {
        // The password may have changed while the old one was being verified.
        isProven = !isSensitive || now.passwordHash === user.passwordHash
        return isProven ? applyChange(now, wanted) : now
      })
      return isProven ? edited : wrongPassword()
    },

    async remove(id) {
      return toResult(await users.remove(id))
    },

    async revoke(id) {
      await users.edit(id, (user) => withTokensRevoked(user, clock.now()))
    },
  }
}

type Changeable = Pick<User, 'role' | 'name' | 'email' | 'groups' | 'disabled' | 'passwordHash'>
/** Undefined leaves a field unchanged. */
type Change = { readonly [Field in keyof Changeable]?: Changeable[Field] | undefined }

/** Picks the fields by name (A2). */
function profileOf({ name, email }: Pick<EditOwnBody, 'name' | 'email'>): Change {
  return { name: name?.trim(), email: email === undefined ? undefined : normalEmail(email) }
}

/** Returns the same record if nothing changes. */
function applyChange(user: User, wanted: Change): User {
  const after: User = {
    ...user,
    role: wanted.role ?? user.role,
    name: wanted.name ?? user.name,
    email: wanted.email ?? user.email,
    groups: wanted.groups ?? user.groups,
    disabled: wanted.disabled ?? user.disabled,
    passwordHash: wanted.passwordHash ?? user.passwordHash,
  }
  return JSON.stringify(after) === JSON.stringify(user) ? user : after
}

/** Whether the change advances the time from which tokens are valid (A1). */
function isRevoking(before: User, after: User): boolean {
  return (
    before.passwordHash !== after.passwordHash ||
    before.role !== after.role ||
    (after.disabled && !before.disabled)
  )
}

/** A time later than that of every token issued so far, including those of this millisecond. */
function withTokensRevoked(user: User, now: Millis): User {
  return { ...user, tokensValidFrom: Millis(Math.max(now, user.tokensValidFrom) + 1) }
}

async function refuseUnproven(
  { passwords, limiter }: AccountEditsOptions,
  user: User,
  presented: string | undefined,
): Promise<Refusal | undefined> {
  if (presented === undefined)
    return invalid('/current_password', {
      code: 'REQUIRED',
      message: 'is needed to change password or e-mail',
    })
  // Counted separately from logins: someone guessing at the login must not keep the user from changing the password.
  const attempt = { from: 'own', account: `own ${user.id}` }
  const limited = limiter.refuse(attempt)
  if (limited !== undefined) return limited
  const isRight = await passwords.verify(presented, user.passwordHash, user.id)
  if (isRight === true || isRight === 'busy') limiter.refund(attempt)
  if (isRight === 'busy') return hashingBusy()
  if (!isRight) return wrongPassword()
  return undefined
}

/** Judges the new password together with the e-mail that the user will have. */
function refuseUnfit(
  { password, email }: Pick<EditOwnBody, 'password' | 'email'>,
  user: User,
): Refusal | undefined {
  return password === undefined ? undefined : refuseCommon(password, normalEmail(email ?? user.email))
}

function toResult(edited: EditUserResult): EditedUser {
  if (edited.kind === 'edited') return edited
  if (edited.why === 'unknown') return userNotFound()
  if (edited.why === 'email_taken')
    return refused('ALREADY_EXISTS', { message: 'there is a user with this e-mail' })
  return refused('LAST_ADMIN', { message: 'make another user an admin first' })
}

const userNotFound = () => refused('NOT_FOUND', { message: 'no such user' })
const wrongPassword = () =>
  invalid('/current_password', { code: 'WRONG_PASSWORD', message: 'is not the password of this account' })
