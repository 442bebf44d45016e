// The types of the client's methods, inferred from the operations.
import type { Static, TSchema } from 'typebox'
import type { Operation } from '../operation.ts'
import type { OPERATIONS } from '../operations/all.ts'

export type Operations = typeof OPERATIONS
export type OperationId = keyof Operations

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** For each try; what a command is waited for comes on top. */
  readonly timeoutMs?: number | undefined
  /** Only if this is still the version: an `etag`, or a shadow's version. */
  readonly ifMatch?: string | number | undefined
  /** Makes a POST safe to be sent again, which the client then does by itself. */
  readonly idempotencyKey?: string | undefined
}

type ParamsOf<O extends Operation> = O['params'] extends TSchema ? Static<O['params']> : unknown
type MaybeOptional<Name extends string, Value, Optional> = Optional extends true
  ? { readonly [N in Name]?: Value | undefined }
  : { readonly [N in Name]: Value }
type QueryOf<O extends Operation> = O['query'] extends TSchema
  ? MaybeOptional<'query', Static<O['query']>, object extends Static<O['query']> ? true : false>
  : unknown
type BodyOf<O extends Operation> = O extends { readonly streamsBody: true; readonly bodyTypes: infer Types }
  ? TextBody<Types>
  : O['body'] extends TSchema
    ? MaybeOptional<'body', Static<O['body']>, O extends { readonly bodyOptional: true } ? true : false>
    : unknown
/** Sent as it is. */
interface TextBody<Types> {
  readonly body: string
  readonly contentType: Types extends readonly string[] ? Types[number] : never
}

/** `{ device_id, query: {…}, body: {…}, signal … }`: what an operation has of them. */
export type CallOf<O extends Operation> = ParamsOf<O> & QueryOf<O> & BodyOf<O> & CallOptions

/** What is not modified is never asked for. */
type ReplyWithBody<Replies> = Replies[Exclude<keyof Replies, 304>]
/** The words first: to the compiler a text could be a schema, too. */
type ValueOf<Reply> = Reply extends 'text'
  ? string
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

/** Operations whose answer is one page of many. */
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
