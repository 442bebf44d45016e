// Bodies of /auth: users, their tokens, and the tokens of devices.
import { type Static, Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import { choice, closed, Instant, object, orNull } from './json-schema.ts'
import { ROLES, TOKEN_SCOPES } from './vocabulary.ts'

export const Email = Type.String({
  minLength: 3,
  maxLength: BODY_LIMITS.emailCharsMax,
  // One @, no blanks and no control characters. Whether mail can be delivered is not checked.
  pattern: '^[^\\s\\u0000-\\u001f\\u007f@<>"]+@[^\\s\\u0000-\\u001f\\u007f@<>"]+$',
  examples: ['ada@example.com'],
})
const UNFIT = '\\u0000-\\u001f\\u007f\\ud800-\\udfff'
/** Letters of any script, but no character that could break a line of a log or a page, and no unpaired surrogate, which
 *  could not be stored. The part before the first letter matches only blanks: if the parts overlapped, a long text would
 *  take quadratic time. */
export const LINE_PATTERN = `^[^\\S${UNFIT}]*[^\\s${UNFIT}][^${UNFIT}]*$`

export const Password = Type.String({
  minLength: BODY_LIMITS.passwordCharsMin,
  maxLength: BODY_LIMITS.passwordCharsMax,
  examples: ['correct horse battery'],
})

/** The name of a person, or of a service. */
export const PersonName = Type.String({
  minLength: 1,
  maxLength: BODY_LIMITS.nameCharsMax,
  pattern: LINE_PATTERN,
  examples: ['Ada'],
})

export const RegisterBody = closed('RegisterBody', {
  email: Email,
  password: Password,
  name: PersonName,
  role: Type.Optional(choice(ROLES, { default: 'viewer' })),
})
export type RegisterBody = Static<typeof RegisterBody>

export const LoginBody = Type.Object(
  {
    email: Type.String({ minLength: 1, maxLength: BODY_LIMITS.emailCharsMax, examples: ['ada@example.com'] }),
    password: Type.String({
      minLength: 1,
      maxLength: BODY_LIMITS.passwordCharsMax,
      examples: ['correct horse battery'],
    }),
  },
  // Open to further fields, because clients send what they registered with.
  { title: 'LoginBody' },
)

// Any text is accepted, because an invalid token is always 401, whatever it looks like. For example, an access token is
// longer than a refresh token.
const RefreshToken = Type.String({
  maxLength: BODY_LIMITS.refreshTokenCharsMax,
  examples: ['rt_…'],
})
// Open to further fields, because clients send the whole answer to a login.
export const RefreshBody = object('RefreshBody', { refresh_token: RefreshToken })
export const LogoutBody = closed('LogoutBody', 'Without a refresh token, every login of the caller ends.', {
  refresh_token: Type.Optional(RefreshToken),
})

export const RegisteredUser = object('RegisteredUser', {
  id: Type.String({ examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  email: Type.String({ examples: ['ada@example.com'] }),
  name: Type.String({ examples: ['Ada'] }),
  role: choice(ROLES, { examples: ['viewer'] }),
  created_at: Instant,
})
export type RegisteredUser = Static<typeof RegisteredUser>

export const Me = object('Me', {
  id: Type.String({ examples: ['usr_01jd0c3k9x7m2v5t8r4q6w1z0y'] }),
  email: orNull(Type.String(), { description: 'Null for an API key.', examples: ['ada@example.com'] }),
  name: Type.String({ examples: ['Ada'] }),
  role: choice(ROLES, { examples: ['operator'] }),
  groups: Type.Array(Type.String(), {
    description:
      'Groups that the user is limited to, each with the groups below it. Empty means the whole fleet.',
    examples: [['warehouse/a']],
  }),
  created_at: Instant,
  last_login_at: orNull(Instant, { examples: ['2026-03-01T08:30:00.000Z'] }),
})
export type Me = Static<typeof Me>

export const Login = object('Login', {
  access_token: Type.String({ examples: ['eyJhbGciOiJIUzI1NiJ9…'] }),
  refresh_token: Type.String({ examples: ['rt_…'] }),
  token_type: choice(['bearer']),
  expires_in: Type.Integer({ minimum: 1, description: 'Lifetime in seconds.', examples: [3600] }),
})
export type Login = Static<typeof Login>

export const DeviceTokenBody = closed('DeviceTokenBody', {
  device_id: Type.String({ minLength: 1, maxLength: 64, examples: ['robot-7'] }),
  scopes: Type.Optional(
    Type.Array(choice(TOKEN_SCOPES), {
      minItems: 1,
      maxItems: TOKEN_SCOPES.length,
      uniqueItems: true,
      default: [...TOKEN_SCOPES],
    }),
  ),
  ttl_hours: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: BODY_LIMITS.deviceTokenHoursMax,
      default: BODY_LIMITS.deviceTokenHoursDefault,
    }),
  ),
  ttl_sec: Type.Optional(
    Type.Integer({
      minimum: BODY_LIMITS.deviceTokenSecMin,
      maximum: BODY_LIMITS.deviceTokenSecMax,
      description: 'Lifetime in seconds. It counts instead of `ttl_hours`.',
      examples: [3600],
    }),
  ),
  revoke_previous: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Voids every earlier token of the device and ends its sessions.',
    }),
  ),
})

export const RenewTokenBody = closed('RenewTokenBody', {
  mqtt_token: Type.String({
    minLength: 1,
    maxLength: 4_096,
    description: 'The token that the device has.',
    examples: ['eyJhbGciOiJIUzI1NiJ9…'],
  }),
  ttl_sec: Type.Optional(
    Type.Integer({
      minimum: BODY_LIMITS.deviceTokenSecMin,
      maximum: BODY_LIMITS.deviceTokenSecMax,
      description: 'Lifetime in seconds. It is never longer than that of the token that is renewed.',
    }),
  ),
})

export const DeviceToken = object('DeviceToken', {
  device_id: Type.String({ examples: ['robot-7'] }),
  mqtt_token: Type.String({
    description: 'The MQTT password of the device.',
    examples: ['eyJhbGciOiJIUzI1NiJ9…'],
  }),
  expires_at: Instant,
})

export const RevokedDevice = object('RevokedDevice', 'Tokens that were issued before that time are void.', {
  device_id: Type.String({ examples: ['robot-7'] }),
  tokens_valid_from: Instant,
})

export const SocketTicket = object('SocketTicket', {
  ticket: Type.String({ description: 'Opens one socket at `/ws?ticket=…`.', examples: ['q8b…'] }),
  expires_in: Type.Integer({ minimum: 1, description: 'Lifetime in seconds.', examples: [30] }),
})

export const DownloadTicketBody = closed('DownloadTicketBody', {
  path: Type.String({
    minLength: 1,
    maxLength: BODY_LIMITS.downloadPathCharsMax,
    pattern: '^/api/v1/[!-~]*$',
    description: 'Path and query of a GET that answers with a file.',
    examples: ['/api/v1/devices/export?format=csv'],
  }),
})

export const DownloadTicket = object('DownloadTicket', {
  url: Type.String({
    description: 'Path and query with a ticket, good once.',
    examples: ['/api/v1/devices/export?format=csv&ticket=dl_…'],
  }),
  expires_in: Type.Integer({ minimum: 1, description: 'Lifetime in seconds.', examples: [30] }),
})

export const JsonWebKeys = object('JsonWebKeys', {
  keys: Type.Array(
    Type.Object(
      { kty: Type.String(), use: choice(['sig']), alg: choice(['RS256', 'EdDSA']), kid: Type.String() },
      {
        title: 'JsonWebKey',
        description: 'A JSON Web Key (RFC 7517), with the members of its `kty`.',
        additionalProperties: true,
        examples: [{ kty: 'OKP', use: 'sig', alg: 'EdDSA', kid: 'k-2f1c', crv: 'Ed25519', x: 'VCpo…' }],
      },
    ),
  ),
})
