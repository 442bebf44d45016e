// An operation of the REST API as data, without its handler: routing, permissions, validation, the OpenAPI and the
// typed client all come from it. The operations themselves are in `operations/`, one file per area.
import type { TSchema } from 'typebox'
import type { RefusalCode } from './refusals.ts'
import type { Role } from './vocabulary.ts'

export const API = '/api/v1'

/** What a question to the database costs, see `Operation.work`. */
export const DATABASE_WORK = 3

/** What a search through the history of all devices costs, see `Operation.work`. */
export const FLEET_SEARCH_WORK = 10

/** `public` lets anyone call, otherwise only users with one of these roles. */
export type Access = 'public' | readonly Role[]

/**
 * The part of an operation that belongs to groups, and so is limited for users who are limited to groups.
 * - `none`: nothing.
 * - `self`: the caller's own things only.
 * - `device`: the device in the path. If it is outside the caller's groups the answer is 404, before anything else.
 * - `list`: the items listed or counted. The handler leaves out those outside.
 * - `target`: what the body or the path names otherwise. The handler judges it.
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

/** `empty` has no body, `text` is not JSON, and `bytes` is not even text. */
export type Reply = TSchema | 'empty' | 'text' | 'bytes'

export interface Operation {
  readonly method: Method
  /** The path, with `{name}` for parameters. */
  readonly path: string
  /** The same as the name of its export. */
  readonly operationId: string
  readonly summary: string
  /** More about the operation, in Markdown. */
  readonly description?: string
  readonly tag: Tag
  readonly access: Access
  readonly scope: Scope
  readonly params?: TSchema
  /** Without it, query parameters are refused. */
  readonly query?: TSchema
  readonly body?: TSchema
  /** Schema of the body sent as JSON, where its other media types are text. */
  readonly jsonBody?: TSchema
  /** Media types of the body. Default: only JSON. */
  readonly bodyTypes?: readonly string[]
  /** Whether a call gets an entry in the audit. Default: every call but GET. */
  readonly isAudited?: boolean
  /** The handler gets the body as a stream, unchecked and without the usual bound. */
  readonly streamsBody?: boolean
  /** Its body may take longer to arrive than that of other requests. The handler watches over it. */
  readonly isUpload?: boolean
  /** An `Idempotency-Key` makes it safe to repeat within a day. A repetition gets the first answer (`once`), or the
   *  present state (`live`). Not for public operations, because a key belongs to a user. */
  readonly repeats?: 'once' | 'live'
  /** The body may be left out. */
  readonly bodyOptional?: boolean
  /** Its answers have an `ETag`. */
  readonly hasEtag?: boolean
  /** It supports `If-Match`, so that it does not undo somebody else's change. */
  readonly takesIfMatch?: boolean
  /** A cookie stands in for a token, so only pages of the service itself are answered. */
  readonly ownPagesOnly?: boolean
  /** Its success sets a cookie, or removes it. */
  readonly setsCookie?: boolean
  /** Although it is public, it may need a token. */
  readonly mayNeedToken?: boolean
  /** It has a high rate limit of its own: a probe must not fail because others at its address send too many requests. */
  readonly isUnlimited?: boolean
  /** The calls that the rate of the device in the path does not count: all of them, or critical commands. Whatever else
   *  a user asks of a device must not keep them from stopping it. */
  readonly deviceRateExempts?: 'all' | 'critical'
  /** What it costs the service beside the request itself, in units of a plain GET. */
  readonly work?: number
  /** Answers by status. */
  readonly replies: Readonly<Record<number, Reply>>
  /** Media types of files that it sends instead of JSON if the caller asks for them. */
  readonly files?: readonly string[]
  /** Callers that ask for `text/html` get a page instead of JSON. A `text` answer is always a page. */
  readonly isPage?: boolean
  /** Refusals besides those that follow from access, scope, query and body. */
  readonly refusals?: readonly RefusalCode[]
}

/** Media types of a body that is JSON or a merge patch (RFC 7396). */
export const JSON_TYPES = ['application/json', 'application/merge-patch+json'] as const
