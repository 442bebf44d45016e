// An operation with its handler.
import type { Static, TSchema } from 'typebox'
import type { Authorship } from '../../engine/index.ts'
import type { AuditDraft } from '../../engine/ports/audit.ts'
import type { Access, Operation } from '../../schemas/operation.ts'
import type { Authentication } from '../auth/authenticate.ts'
import type { Caller } from '../auth/caller.ts'
import type { Refusal } from '../refusal.ts'
import type { Answer, FileAnswer, FirmwareFile } from './answer.ts'
import type { RepeatKey } from './repeats.ts'

/** A request as its handler sees it: authenticated and validated. */
export interface Call<Params, Query, Body, User> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly user: User
  readonly requestId: string
  /** Defined if the operation may be repeated and its caller sent an Idempotency-Key. */
  readonly repeatKey: RepeatKey | undefined
  readonly ip: string
  /** Sent from this machine: not through a proxy, and with a local host name. */
  readonly isLocal: boolean
  /** True if the browser used TLS to reach the service. */
  readonly isSecure: boolean
  /** Signs a request to the engine with the caller's name. The engine then writes the audit entry, and this call
   *  writes none of its own. */
  sign(about?: Partial<Pick<AuditDraft, 'target' | 'detail'>>): Authorship
  /** Path and query as sent. */
  readonly url: string
  header(name: string): string | undefined
  /** The caller of a public route, if there is a bearer token. */
  authenticate(): Promise<Authentication | undefined>
}

/** The part of a call that a helper needs to send a request to the engine. */
export type SignedCall = Pick<Call<unknown, unknown, unknown, Caller>, 'user' | 'sign'>

type MaybePromise<T> = T | Promise<T>
type HandlerResult = MaybePromise<Answer | FileAnswer | FirmwareFile | Refusal>

export interface Route extends Operation {
  /** Limit of the body, without the overhead that a form adds around its file. */
  readonly bodyBytesMax?: number | undefined
  handle(call: Call<unknown, unknown, unknown, unknown>): HandlerResult
}

type StaticOf<Schema> = Schema extends TSchema ? Static<Schema> : undefined
type BodyOf<O extends Operation> =
  | StaticOf<O['body']>
  | (O extends { readonly bodyOptional: true } ? undefined : never)
type CallerOf<A extends Access> = A extends 'public' ? undefined : Caller
type CallOf<O extends Operation> = Call<
  StaticOf<O['params']>,
  StaticOf<O['query']>,
  BodyOf<O>,
  CallerOf<O['access']>
>

interface Handler<O extends Operation> {
  // A method, because methods may have a narrower parameter than `Route` promises. This is safe: the server validates and
  // authenticates with the same data before it calls the handler.
  handle(call: CallOf<O>): HandlerResult
}

export function route<O extends Operation>(operation: O, handle: Handler<O>['handle']): Route {
  return { ...operation, handle }
}
