// An operation of the REST API as data, without its handler. Routing, permissions, validation, the OpenAPI document and the
// typed client are all derived from it. The operations themselves are in `operations/`, one file per area.
import type { TSchema } from 'typebox'
import type { RefusalCode } from './refusals.ts'
import type { Role } from './vocabulary.ts'

export const API = '/api/v1'

/** The cost of a database query, see `Operation.work`. */
export const DATABASE_WORK = 3

/** The cost of searching the history of all devices, see `Operation.work`. */
export const FLEET_SEARCH_WORK = 10

/** `public` allows anyone, otherwise only users with one of these roles are allowed. */
export type Access = 'public' | readonly Role[]

/**
 * The part of an operation that is limited for users who are limited to groups.
 * - `none`: nothing.
 * - `self`: only the caller's own things.
 * - `device`: the device in the path. If it is outside the caller's groups, the answer is 404, before anything else.
 * - `list`: the listed or counted items. The handler leaves out those outside.
 * - `target`: whatever else the body or the path names. The handler checks it.
 */
export type Scope = 'none' | 'self' | 'device' | 'list' | 'target'

/** The areas of the API, in the order of the documentation. */
export const TAGS = {
  auth: 'Accounts, logins, and the tokens of people and devices.',
  users: 'Users, their roles, and the groups they are limited to.',
  'api-keys': 'Credentials that services use instead of a login.',
  provisioning: 'Keys with which devices register themselves, without a person beside them.',
  devices: 'The records of the fleet, one at a time or many at once.',
  fleet: 'The whole fleet at once: a row per device, counts, and how they went.',
  telemetry: 'Telemetry of devices: the latest values and the history.',
  shadows: 'The desired state of a device, its reported state, and the difference.',
  commands: 'Commands to single devices and to groups.',
  ota: 'Firmware for over-the-air updates.',
  alerts: 'Alerts of devices, the rules that raise them, silences, and the channels that tell of alerts.',
  audit: 'Who did what, and with what outcome.',
  operations: 'Probes, metrics and the description of the API. Open to anyone.',
} as const
export type Tag = keyof typeof TAGS

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** `empty` means no body, `text` is not JSON, and `bytes` is not text either. */
export type Reply = TSchema | 'empty' | 'text' | 'bytes'

export interface Operation {
  readonly method: Method
  /** The path, with `{name}` for parameters. */
  readonly path: string
  /** Equal to the name of its export. */
  readonly operationId: string
  readonly summary: string
  /** More about the operation, in Markdown. */
  readonly description?: string
  readonly tag: Tag
  readonly access: Access
  readonly scope: Scope
  readonly params?: TSchema
  /** If undefined, query parameters are refused. */
  readonly query?: TSchema
  readonly body?: TSchema
  /** Schema of the body when it is sent as JSON, if its other media types are text. */
  readonly jsonBody?: TSchema
  /** Media types of the body. By default only JSON. */
  readonly bodyTypes?: readonly string[]
  /** Whether a call gets an entry in the audit. By default every call except GET does. */
  readonly isAudited?: boolean
  /** The handler gets the body as a stream, without validation and without the usual size limit. */
  readonly streamsBody?: boolean
  /** The body may take longer to arrive than that of other requests. The handler limits the time. */
  readonly isUpload?: boolean
  /** An `Idempotency-Key` makes repeating a request safe within a day. A repetition gets the first answer (`once`), or the
   *  current state (`live`). Not for public operations, because a key belongs to a user. */
  readonly repeats?: 'once' | 'live'
  /** The body may be left out. */
  readonly bodyOptional?: boolean
  /** Answers have an `ETag`. */
  readonly hasEtag?: boolean
  /** Supports `If-Match`, so that a caller does not overwrite a change by somebody else. */
  readonly takesIfMatch?: boolean
  /** A cookie replaces the token, so only pages of the service itself may call it. */
  readonly ownPagesOnly?: boolean
  /** A successful answer sets a cookie or removes it. */
  readonly setsCookie?: boolean
  /** A token may be needed although the operation is public. */
  readonly mayNeedToken?: boolean
  /** Has a high rate limit of its own: a probe must not fail because others at its address send too many requests. */
  readonly isUnlimited?: boolean
  /** Calls that do not count towards the rate of the device in the path: all of them, or critical commands. Whatever else a
   *  user requests for a device must not keep them from stopping it. */
  readonly deviceRateExempts?: 'all' | 'critical'
  /** Its cost in addition to that of the request itself, in units of a plain GET. */
  readonly work?: number
  /** Answers by status. */
  readonly replies: Readonly<Record<number, Reply>>
  /** Media types of files that can be requested instead of JSON. */
  readonly files?: readonly string[]
  /** Callers that accept `text/html` get a page instead of JSON. A `text` answer is always a page. */
  readonly isPage?: boolean
  /** Refusals in addition to those that follow from access, scope, query and body. */
  readonly refusals?: readonly RefusalCode[]
}

/** Media types of a body that is JSON or a merge patch (RFC 7396). */
export const JSON_TYPES = ['application/json', 'application/merge-patch+json'] as const
