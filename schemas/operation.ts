// An operation of the REST API as data, without its handler: routing, permissions, validation, the OpenAPI and the
// typed client all come from it. The operations themselves are in `operations/`, one file per area.
import type { TSchema } from 'typebox'
import type { RefusalCode } from './refusals.ts'
import type { Role } from './vocabulary.ts'

export const API = '/api/v1'

/** Who may call: anyone, or users of these roles. */
export type Access = 'public' | readonly Role[]

/** What of it belongs to groups, and so to the users that are limited to groups.
 *  - `none`: nothing.
 *  - `self`: the caller's own only.
 *  - `device`: the device in the path. Outside the caller's groups it is 404, before anything else is looked at.
 *  - `list`: what is listed or counted; the handler leaves out what is outside.
 *  - `target`: what the body or the path names otherwise; the handler judges it. */
export type Scope = 'none' | 'self' | 'device' | 'list' | 'target'

/** The areas of the API, in the order they are shown. */
export const TAGS = {
  auth: 'Accounts, logins, and the tokens of people and devices.',
  users: 'People: their roles, and the groups they are limited to.',
  'api-keys': 'What services present instead of a login.',
  devices: 'The records of the fleet, one by one and many at once.',
  telemetry: 'What devices measure: the latest, and the past.',
  shadows: 'What is wanted of a device, what it says it is, and the difference.',
  commands: 'Requests to devices, one by one and to groups.',
  audit: 'Who did what.',
  operations: 'Probes, metrics, and the description of the API itself; open to anyone.',
} as const
export type Tag = keyof typeof TAGS

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** `empty` has no body, `text` is no JSON. */
export type Reply = TSchema | 'empty' | 'text'

export interface Operation {
  readonly method: Method
  /** With `{name}` for parameters. */
  readonly path: string
  /** The name it is exported by. */
  readonly operationId: string
  readonly summary: string
  /** What its caller should know beyond that, in Markdown. */
  readonly description?: string
  readonly tag: Tag
  readonly access: Access
  readonly scope: Scope
  readonly params?: TSchema
  /** No query parameter is taken if left out. */
  readonly query?: TSchema
  readonly body?: TSchema
  /** Schema of the body sent as JSON, where its other media types are text. */
  readonly jsonBody?: TSchema
  /** Media types of the body; JSON alone if left out. */
  readonly bodyTypes?: readonly string[]
  /** Whether a call leaves an entry in the audit; what is no GET does if left out. */
  readonly isAudited?: boolean
  /** The body goes to the handler as it arrives, unchecked and without the usual bound. */
  readonly streamsBody?: boolean
  /** An `Idempotency-Key` makes sending it again safe for a day: it is answered as the first time (`once`), or with what
   *  has become of it (`live`). Not for public operations: a key is a user's. */
  readonly repeats?: 'once' | 'live'
  /** A body may be left out. */
  readonly bodyOptional?: boolean
  /** Its answers carry an `ETag`. */
  readonly hasEtag?: boolean
  /** `If-Match` keeps it from undoing what somebody else has changed. */
  readonly takesIfMatch?: boolean
  /** Public, and yet a token may be wanted. */
  readonly mayNeedToken?: boolean
  /** Nobody asks too often: a probe must not fail because others at the same address ask too much. */
  readonly isUnlimited?: boolean
  /** By status. */
  readonly replies: Readonly<Record<number, Reply>>
  /** Media types of files that are sent instead of JSON to who asks for them. */
  readonly files?: readonly string[]
  /** Who asks for `text/html` gets a page instead of JSON; of what is `text`, everybody does. */
  readonly isPage?: boolean
  /** Beyond those that follow from access, scope, query and body. */
  readonly refusals?: readonly RefusalCode[]
}

/** What a body may be sent as where it is JSON or a merge patch (RFC 7396). */
export const JSON_TYPES = ['application/json', 'application/merge-patch+json'] as const
