// A route as data beside its handler: permissions, validation and the OpenAPI all come from it.
import type { Static, TSchema } from 'typebox'
import type { User } from '../../engine/ports/users.ts'
import type { RefusalCode } from '../../schemas/refusals.ts'
import type { Role } from '../../schemas/vocabulary.ts'
import type { Authenticated } from '../auth/authenticate.ts'
import type { Answer, Refusal } from './answer.ts'

export const API = '/api/v1'

/** Who may call: anyone, or users of these roles. */
export type Access = 'public' | readonly Role[]
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What a handler sees of a request: everything in it is authenticated and validated. */
export interface Call<Params, Query, Body, Caller> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly user: Caller
  readonly requestId: string
  readonly ip: string
  /** Path and query as sent. */
  readonly url: string
  header(name: string): string | undefined
  /** The caller of a public route, if there is a bearer token. */
  authenticate(): Promise<Authenticated | undefined>
}

type MaybeLater<T> = T | Promise<T>
type CallerOf<A extends Access> = A extends 'public' ? undefined : User

export interface RouteSpec {
  readonly method: Method
  /** With `{name}` for parameters. */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly tag: string
  readonly access: Access
  readonly params?: TSchema
  readonly query?: TSchema
  readonly body?: TSchema
  /** Media types of the body; JSON alone if left out. */
  readonly bodyTypes?: readonly string[]
  /** A body may be left out. */
  readonly bodyOptional?: boolean
  /** By status; `empty` has no body, `text` is no JSON. */
  readonly replies: Readonly<Record<number, TSchema | 'empty' | 'text'>>
  /** Beyond those that follow from access, query and body. */
  readonly refusals?: readonly RefusalCode[]
}

export interface Route extends RouteSpec {
  handle(call: Call<unknown, unknown, unknown, unknown>): MaybeLater<Answer | Refusal>
}

interface RouteOf<P extends TSchema, Q extends TSchema, B extends TSchema, A extends Access>
  extends RouteSpec {
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  readonly access: A
  // A method, not a property: its parameter may be narrower than what `Route` promises, because the server
  // validates and authenticates by the same data before it calls.
  handle(call: Call<Static<P>, Static<Q>, Static<B>, CallerOf<A>>): MaybeLater<Answer | Refusal>
}

export function route<P extends TSchema, Q extends TSchema, B extends TSchema, const A extends Access>(
  spec: RouteOf<P, Q, B, A>,
): Route {
  return spec
}
