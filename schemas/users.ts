// Bodies of /users, and of changes to the caller's own account.
import { type Static, Type } from 'typebox'
import { Email, Password, PersonName } from './auth.ts'
import { BODY_LIMITS } from './body-limits.ts'
import { Group } from './device.ts'
import { choice, closed, Instant, object, orNull, sortBy } from './json-schema.ts'
import { PAGE_QUERY, pageOf } from './page.ts'
import { ROLES } from './vocabulary.ts'

export const Groups = Type.Array(Group, {
  maxItems: BODY_LIMITS.groupsPerUserMax,
  uniqueItems: true,
  description:
    'Groups that the user is limited to, each with the groups below it. Empty means the whole fleet.',
  examples: [['warehouse/a']],
})

export const UserParams = Type.Object({
  user_id: Type.String({ examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
})

export const UserBody = object('User', {
  id: Type.String({ examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  email: Type.String({ examples: ['ada@example.com'] }),
  name: Type.String({ examples: ['Ada'] }),
  role: choice(ROLES, { examples: ['operator'] }),
  groups: Groups,
  disabled: Type.Boolean(),
  created_at: Instant,
  last_login_at: orNull(Instant, { examples: ['2026-03-01T08:30:00.000Z'] }),
})
export type UserBody = Static<typeof UserBody>

export const EditUserBody = Type.Object(
  {
    role: Type.Optional(choice(ROLES)),
    name: Type.Optional(PersonName),
    email: Type.Optional(Email),
    password: Type.Optional(Password),
    groups: Type.Optional(Groups),
    disabled: Type.Optional(Type.Boolean()),
  },
  {
    title: 'EditUserBody',
    additionalProperties: false,
    description: 'A new password, a new role or disabling the user ends all their logins.',
    examples: [{ role: 'operator', groups: ['warehouse/a'] }],
  },
)
export type EditUserBody = Static<typeof EditUserBody>

export const EditOwnBody = Type.Object(
  {
    name: Type.Optional(PersonName),
    email: Type.Optional(Email),
    password: Type.Optional(Password),
    current_password: Type.Optional(Type.String({ minLength: 1, maxLength: BODY_LIMITS.passwordCharsMax })),
  },
  {
    title: 'EditOwnBody',
    additionalProperties: false,
    description:
      'Changing e-mail or password needs `current_password`. A new password ends all logins, including this one.',
    examples: [{ name: 'Ada L.' }],
  },
)
export type EditOwnBody = Static<typeof EditOwnBody>

const SORTS = ['created_at', 'email', 'name', 'role', 'last_login_at'] as const
export type UserSort = (typeof SORTS)[number]

export const UserListQuery = closed({
  ...PAGE_QUERY,
  role: Type.Optional(choice(ROLES)),
  disabled: Type.Optional(Type.Boolean()),
  q: Type.Optional(
    Type.String({ maxLength: BODY_LIMITS.nameCharsMax, description: 'Beginning of the name or e-mail.' }),
  ),
  sort: sortBy(SORTS, 'created_at:DESC'),
})
export const UserPage = pageOf(UserBody, 'UserPage')
