// Bodies of /auth/session and /auth/sessions: logins of browsers, and the list of a user's logins.
import { type Static, Type } from 'typebox'
import { Me } from './auth.ts'
import { BODY_LIMITS } from './body-limits.ts'
import { choice, closed, Instant, object, orNull } from './json-schema.ts'
import { LOGIN_KINDS } from './vocabulary.ts'

export const BrowserSessionBody = Type.Object(
  {
    email: Type.Optional(
      Type.String({ minLength: 1, maxLength: BODY_LIMITS.emailCharsMax, examples: ['ada@example.com'] }),
    ),
    password: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: BODY_LIMITS.passwordCharsMax,
        examples: ['correct horse battery'],
      }),
    ),
    remember: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Stay logged in when the browser is closed.',
      }),
    ),
    ticket: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: BODY_LIMITS.loginTicketCharsMax,
        description: 'Of a one-time login address.',
      }),
    ),
  },
  {
    title: 'BrowserSessionBody',
    description: 'Either `email` and `password`, or a `ticket`.',
    additionalProperties: false,
    examples: [{ email: 'ada@example.com', password: 'correct horse battery', remember: true }],
  },
)
export type BrowserSessionBody = Static<typeof BrowserSessionBody>

export const RefreshSessionBody = Type.Object(
  {},
  { title: 'RefreshSessionBody', additionalProperties: false, examples: [{}] },
)

export const BrowserSession = object(
  'BrowserSession',
  'The refresh token is in a cookie that scripts cannot read.',
  {
    access_token: Type.String({ examples: ['eyJhbGciOiJIUzI1NiJ9…'] }),
    token_type: choice(['bearer']),
    expires_in: Type.Integer({ minimum: 1, description: 'Lifetime in seconds.', examples: [3600] }),
    user: Me,
  },
)
export type BrowserSession = Static<typeof BrowserSession>

export const UserSession = object('UserSession', {
  id: Type.String({ examples: ['fam_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  session_id: Type.String({
    description: 'The same as `id`.',
    examples: ['fam_01jd0c3k9x7m2v5t8r4q6w1z0y'],
  }),
  kind: choice(LOGIN_KINDS, {
    description: '`browser`: a cookie of the dashboard. `api`: a refresh token of a program.',
    examples: ['browser'],
  }),
  created_at: Instant,
  last_used_at: Instant,
  expires_at: Instant,
  ip: orNull(Type.String(), { description: 'Where it was last used.', examples: ['192.0.2.7'] }),
  user_agent: orNull(Type.String(), { examples: ['Mozilla/5.0 (X11; Linux x86_64) Firefox/152.0'] }),
  current: Type.Boolean({ description: 'It is the login of this very request.', examples: [true] }),
})
export type UserSession = Static<typeof UserSession>

export const UserSessions = object('UserSessions', {
  data: Type.Array(UserSession, { description: 'The one used last comes first.' }),
})

export const SessionParams = closed({
  session_id: Type.String({ minLength: 1, maxLength: 64, examples: ['fam_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
})
