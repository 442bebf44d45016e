// The frames of /ws. Frames of clients are validated here and nowhere else. A frame of the server is a type and its text.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { type Static, Type } from 'typebox'
import { BODY_LIMITS } from './body-limits.ts'
import { Group } from './device.ts'
import { fieldErrorCode } from './field-error-code.ts'
import { type Json, parseJsonObject } from './json.ts'
import { choice, closed } from './json-schema.ts'
import { unknownName } from './nearest-name.ts'
import type { FieldError, Problem, RefusalAbout } from './problem.ts'
import type { DeviceStatus, Role } from './vocabulary.ts'

export const SOCKET_PROTOCOL = 'fleet.v1'
export const TOKEN_PROTOCOL_PREFIX = 'bearer.'
export const SOCKET_PATHS = ['/ws', '/api/v1/ws'] as const

export const CHANNELS = [
  'devices',
  'telemetry',
  'commands',
  'shadows',
  'ota',
  'logs',
  'events',
  'alerts',
  'audit',
  'fleet',
] as const
export type ChannelName = (typeof CHANNELS)[number]

export const CLOSE_CODES = {
  protocol: 1002,
  invalidText: 1007,
  abuse: 1008,
  silent: 1011,
  restart: 1012,
  tryLater: 1013,
  unauthenticated: 4401,
  forbidden: 4403,
  authTimeout: 4408,
  tooLarge: 4413,
  tooMany: 4429,
} as const
export type CloseReason = keyof typeof CLOSE_CODES

const SubscriptionId = Type.String({
  minLength: 1,
  maxLength: BODY_LIMITS.subscriptionIdCharsMax,
  examples: ['s1'],
})

/** A device must match all fields. Unknown fields are refused, because a typing error must not widen a filter. */
export const SocketFilter = closed({
  device_id: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$' })),
  group: Type.Optional(Group),
  type: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  tag: Type.Optional(Type.String({ minLength: 1, maxLength: BODY_LIMITS.tagCharsMax })),
  deployment_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'Only on the channel `ota`.' }),
  ),
  pending: Type.Optional(
    Type.Boolean({
      description:
        'Only on the channel `alerts`: tell `alert.pending`, too, when a condition begins to count its `for_sec`.',
    }),
  ),
  metrics: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: BODY_LIMITS.metricNameBytesMax }), {
      minItems: 1,
      maxItems: BODY_LIMITS.metricsPerSubscriptionMax,
      description: 'Dotted names, or the part of a name before a dot.',
    }),
  ),
  device_ids: Type.Optional(
    Type.Array(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$' }), {
      minItems: 1,
      maxItems: BODY_LIMITS.fleetSubscriptionDevicesMax,
      description: 'Only on the channel `fleet`.',
    }),
  ),
})
export type SocketFilter = Static<typeof SocketFilter>

const Auth = Type.Object({
  type: Type.Literal('auth'),
  token: Type.String({ minLength: 1, examples: ['eyJhbGciOiJIUzI1NiJ9…'] }),
})
const Subscribe = Type.Object(
  {
    type: Type.Literal('subscribe'),
    id: SubscriptionId,
    channel: choice(CHANNELS),
    filter: Type.Optional(SocketFilter),
    throttle_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: BODY_LIMITS.throttleMsMax })),
    snapshot: Type.Optional(Type.Boolean()),
    values: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: BODY_LIMITS.metricNameBytesMax }), {
        minItems: 1,
        maxItems: BODY_LIMITS.fleetSubscriptionMetricsMax,
        description:
          'Metrics whose latest values are sent along, once a second at most. Only on the channel `fleet`.',
      }),
    ),
  },
  {
    additionalProperties: false,
    examples: [
      { type: 'subscribe', id: 's1', channel: 'telemetry', filter: { group: 'home' }, snapshot: true },
    ],
  },
)
const Unsubscribe = Type.Object({ type: Type.Literal('unsubscribe'), id: SubscriptionId })
const Ping = Type.Object({ type: Type.Literal('ping') })
/** The frames of a client, by their type. */
export const CLIENT_FRAMES = { auth: Auth, subscribe: Subscribe, unsubscribe: Unsubscribe, ping: Ping }

export type Auth = Static<typeof Auth>
export type Subscribe = Static<typeof Subscribe>
export type ClientFrame = Auth | Subscribe | Static<typeof Unsubscribe> | Static<typeof Ping>

/** The problem of a refused frame: the object of REST without its `type`, a field that frames use themselves. */
export type SocketProblem = Omit<Problem, 'type'>

export type ServerFrame =
  | {
      readonly type: 'auth_ok'
      readonly user: {
        readonly id: string
        /** Null for an API key. */
        readonly email: string | null
        readonly name: string
        readonly role: Role
      }
      /** Null means never. */
      readonly expires_at: string | null
    }
  | { readonly type: 'token_expiring'; readonly in: number }
  | { readonly type: 'subscribed' | 'unsubscribed'; readonly id: string }
  | { readonly type: 'resync'; readonly id: string; readonly dropped: number }
  | { readonly type: 'error'; readonly id?: string; readonly problem: SocketProblem }
  | { readonly type: 'pong' }
  | FleetFrame

/** An event of the channel `fleet`. */
export interface FleetFrame {
  readonly type: 'event'
  readonly id: string
  readonly seq: number
  readonly ts: string
  readonly channel: 'fleet'
  readonly event: 'fleet.delta' | 'fleet.stats'
  readonly data: FleetDelta | FleetStats
}

/** Columns as in the index, but with words instead of positions. Only `status` is a position, in `statuses`, which is the
 *  same for everyone. An absent column has not changed. */
export interface FleetDelta {
  readonly device_id: readonly string[]
  /** Zeros in a frame that contains only values of its devices. */
  readonly rev: readonly number[]
  readonly status?: readonly number[]
  readonly flags?: readonly number[]
  readonly since_ms?: readonly number[]
  readonly last_seen_ms?: readonly (number | null)[]
  readonly name?: readonly string[]
  readonly type?: readonly string[]
  readonly group?: readonly (string | null)[]
  readonly tags?: readonly (readonly string[])[]
  readonly parent_id?: readonly (string | null)[]
  readonly firmware?: readonly (string | null)[]
  /** Keyed by metric. Null where a device has no value. */
  readonly values?: Readonly<Record<string, readonly Json[]>>
  /** Devices that are no longer visible to the subscription. */
  readonly removed?: readonly string[]
  /** The `rev` at which each of them disappeared. Anything sent about it with a smaller `rev` is obsolete. */
  readonly removed_rev?: readonly number[]
}

/** Counts of the devices that the subscription sees. Rates, lag and deployments refer to the whole service, and are null
 *  for users who are limited to groups. */
export interface FleetStats {
  readonly by_status: Readonly<Record<DeviceStatus, number>>
  readonly messages_per_sec: number | null
  readonly points_per_sec: number | null
  readonly ingest_lag_ms: number | null
  /** Null for viewers. */
  readonly commands: { readonly open: number; readonly failed_1h: number } | null
  readonly alerts: { readonly info: number; readonly warning: number; readonly critical: number }
  readonly deployments_active: number | null
}

export type ParsedFrame =
  | { readonly kind: 'frame'; readonly frame: ClientFrame }
  | { readonly kind: 'refused'; readonly id: string | undefined; readonly about: RefusalAbout }

const ajv = new Ajv({ strict: true, strictTypes: false, allErrors: false, verbose: true })
const CHECKS: Readonly<Record<ClientFrame['type'], ValidateFunction>> = {
  auth: ajv.compile(CLIENT_FRAMES.auth),
  subscribe: ajv.compile(CLIENT_FRAMES.subscribe),
  unsubscribe: ajv.compile(CLIENT_FRAMES.unsubscribe),
  ping: ajv.compile(CLIENT_FRAMES.ping),
}

export function parseClientFrame(text: string): ParsedFrame {
  const value = parseJsonObject(text)
  if (value === undefined) return refused('BAD_REQUEST', undefined, 'a frame is one JSON object')
  const id =
    typeof value['id'] === 'string' ? value['id'].slice(0, BODY_LIMITS.subscriptionIdCharsMax) : undefined
  const type = value['type']
  const known = typeof type === 'string' && Object.hasOwn(CHECKS, type)
  if (!known)
    return refused('VALIDATION_FAILED', id, `type must be one of ${Object.keys(CHECKS).join(', ')}`, [
      {
        path: '/type',
        code: fieldErrorCode(type === undefined ? 'required' : 'enum'),
        message: 'is not a known frame',
      },
    ])
  // `hasOwn` has shown that it is a key.
  const check = CHECKS[type as ClientFrame['type']]
  if (!check(value)) {
    const errors = toFieldErrors(check.errors)
    const [first] = errors
    const message = first === undefined ? 'the frame is not valid' : `${first.path} ${first.message}`
    return refused(
      first?.code === 'UNKNOWN_FIELD' ? 'UNKNOWN_FIELD' : 'VALIDATION_FAILED',
      id,
      message,
      errors,
    )
  }
  // The schema of this type has validated the value.
  return { kind: 'frame', frame: value as unknown as ClientFrame }
}

export function frameText(frame: ServerFrame): string {
  return JSON.stringify(frame)
}

function refused(
  code: RefusalAbout['code'],
  id: string | undefined,
  message: string,
  errors?: readonly FieldError[],
): ParsedFrame {
  return {
    kind: 'refused',
    id,
    about: { code, detail: errors === undefined ? { message } : { message, errors } },
  }
}

function toFieldErrors(errors: readonly ErrorObject[] | null | undefined): FieldError[] {
  return (errors ?? []).map((error) => unknownField(error) ?? fieldErrorOf(error))
}

function fieldErrorOf(error: ErrorObject): FieldError {
  const { keyword, instancePath, message } = error
  const code = fieldErrorCode(keyword)
  const missing: unknown = error.params['missingProperty']
  if (typeof missing === 'string') return { path: `${instancePath}/${missing}`, code, message: 'is required' }
  return {
    path: instancePath === '' ? '/' : instancePath,
    code,
    message: `${message ?? 'is not valid'}${allowedWords(error)}`,
  }
}

/** Undefined for any other error. */
function unknownField({ instancePath, params, parentSchema }: ErrorObject): FieldError | undefined {
  const name: unknown = params['additionalProperty']
  if (typeof name !== 'string') return undefined
  const { properties = {} } = Object(parentSchema) as { readonly properties?: object }
  const message = unknownName(name, Object.keys(properties))
  return { path: `${instancePath}/${name}`, code: 'UNKNOWN_FIELD', message }
}

function allowedWords({ params }: ErrorObject): string {
  const words: unknown = params['allowedValues']
  return Array.isArray(words) ? `: ${words.join(', ')}` : ''
}
