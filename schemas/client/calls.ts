// The types of the client's methods, inferred from the operations.
import type { Static, TSchema } from 'typebox'
import type { Operation } from '../operation.ts'
import type { OPERATIONS } from '../operations/all.ts'

export type Operations = typeof OPERATIONS
export type OperationId = keyof Operations

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Applies to each try. The time to wait for a command is added to it. */
  readonly timeoutMs?: number | undefined
  /** The call succeeds only if this is still the current version: an `etag`, or a shadow's version. */
  readonly ifMatch?: string | number | undefined
  /** Makes a POST safe to repeat, and lets the client repeat it. */
  readonly idempotencyKey?: string | undefined
}

type ParamsOf<O extends Operation> = O['params'] extends TSchema ? Static<O['params']> : unknown
type MaybeOptional<Name extends string, Value, Optional> = Optional extends true
  ? { readonly [N in Name]?: Value | undefined }
  : { readonly [N in Name]: Value }
/** A repeatable parameter also accepts a single value. */
type Repeatable<Query> = {
  readonly [Name in keyof Query]: Query[Name] extends readonly (infer One)[] | undefined
    ? Query[Name] | One
    : Query[Name]
}
type QueryOf<O extends Operation> = O['query'] extends TSchema
  ? MaybeOptional<'query', Repeatable<Static<O['query']>>, object extends Static<O['query']> ? true : false>
  : unknown
type BodyOf<O extends Operation> = O extends { readonly streamsBody: true; readonly bodyTypes: infer Types }
  ? Types extends readonly ['multipart/form-data']
    ? FormBody
    : TextBody<Types>
  : O['body'] extends TSchema
    ? MaybeOptional<'body', Static<O['body']>, O extends { readonly bodyOptional: true } ? true : false>
    : unknown
/** A form that contains a file. */
interface FormBody {
  readonly body: FormData
}
/** A body that is sent unchanged. */
interface TextBody<Types> {
  readonly body: string
  readonly contentType: Types extends readonly string[] ? Types[number] : never
}

/** `{ device_id, query: {…}, body: {…}, signal … }`, as far as the operation defines them. */
export type CallOf<O extends Operation> = ParamsOf<O> & QueryOf<O> & BodyOf<O> & CallOptions

/** The client never sends conditional reads, so 304 does not occur. */
type ReplyWithBody<Replies> = Replies[Exclude<keyof Replies, 304>]
/** The literal words come first, because a string type would also match a schema. */
type ValueOf<Reply> = Reply extends 'text'
  ? string
  : Reply extends 'bytes'
    ? Blob
    : Reply extends 'empty'
      ? undefined
      : Reply extends TSchema
        ? Static<Reply>
        : never
export type ReplyOf<O extends Operation> = ValueOf<ReplyWithBody<O['replies']>>

type Method<O extends Operation> =
  object extends CallOf<O>
    ? (call?: CallOf<O>) => Promise<ReplyOf<O>>
    : (call: CallOf<O>) => Promise<ReplyOf<O>>
export type Methods = { readonly [Id in OperationId]: Method<Operations[Id]> }

/** Operations whose answer is one page of a list. */
export type PagedId = {
  [Id in OperationId]: ReplyOf<Operations[Id]> extends { readonly data: readonly unknown[] } & (
    | { readonly total_pages: number }
    | { readonly next_cursor: string | null }
  )
    ? Id
    : never
}[OperationId]
type Pager<O extends Operation> =
  object extends CallOf<O>
    ? (call?: CallOf<O>) => AsyncGenerator<ReplyOf<O>, void, undefined>
    : (call: CallOf<O>) => AsyncGenerator<ReplyOf<O>, void, undefined>
export type Pagers = { readonly [Id in PagedId]: Pager<Operations[Id]> }
