// /users: an admin manages user accounts.
import type { User } from '../../engine/ports/users.ts'
import { toIso, UserId } from '../../schemas/ids.ts'
import { deleteUser, editUser, getUser, listUsers } from '../../schemas/operations/users.ts'
import type { UserBody, UserSort } from '../../schemas/users.ts'
import { isoOrNull } from '../bodies/iso-or-null.ts'
import { answer } from '../http/answer.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { refused } from '../refusal.ts'
import { sortOrder } from './sort-order.ts'

export function userRoutes({ accounts, users }: Services): readonly Route[] {
  return [
    route(listUsers, async ({ query, url }) => {
      await users.catchUp()
      const { role, disabled, q = '', sort = 'created_at:DESC' } = query
      const found = users
        .list()
        .filter((user) => role === undefined || user.role === role)
        .filter((user) => disabled === undefined || user.disabled === disabled)
        .filter(({ name, email }) => isPrefix(q, name) || isPrefix(q, email))
        .sort(sortOrder(sort, KEYS))
      const window = toWindow(query)
      const page = found.slice(window.offset, window.offset + window.perPage).map(userBody)
      return pageAnswer(page, found.length, window, url)
    }),
    route(getUser, async ({ params }) => {
      await users.catchUp()
      const user = users.get(UserId(params.user_id))
      return user === undefined
        ? refused('NOT_FOUND', { message: 'no such user' })
        : answer(200, userBody(user))
    }),
    route(editUser, async ({ params, body, user }) => {
      const edited = await accounts.edit(UserId(params.user_id), body, user.id)
      return edited.kind === 'refused' ? edited : answer(200, userBody(edited.user))
    }),
    route(deleteUser, async ({ params }) => {
      const removed = await accounts.remove(UserId(params.user_id))
      return removed.kind === 'refused' ? removed : answer(204, undefined)
    }),
  ]
}

/** Names every field, so that a new field of the record is not exposed by accident. */
function userBody(user: User): UserBody {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    role: user.role,
    groups: [...user.groups],
    disabled: user.disabled,
    created_at: toIso(user.createdAt),
    last_login_at: isoOrNull(user.lastLoginAt),
  }
}

const isPrefix = (prefix: string, text: string) => text.toLowerCase().startsWith(prefix.toLowerCase())

const KEYS: Readonly<Record<UserSort, (user: User) => string | number>> = {
  created_at: ({ createdAt }) => createdAt,
  email: ({ email }) => email,
  name: ({ name }) => name.toLowerCase(),
  role: ({ role }) => role,
  last_login_at: ({ lastLoginAt }) => lastLoginAt ?? 0,
}
