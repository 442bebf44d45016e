// Writes the audit entry of a REST call: its caller, action, target and outcome. It holds names of fields, never values.
//
// - The answer is sent once its entry would survive a crash. Refusals of unknown callers are only counted: anyone can
//   cause them at any rate, so neither their paths nor their bodies are stored. A refusal that concerns an existing
//   account names the account as its object, which distinguishes it from attempts on invented accounts.
// - If the entry cannot be stored, the call is answered all the same, because it did happen. The entry is logged instead.
// A3. If a shard decides on the change, the entry is part of the shard's own save and costs no further write. Such a
//     call is signed, and an entry is written here only if the service failed or the handler adds details.
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { userAuthor } from '../../engine/domain/shadow/record.ts'
import type { Authorship, Engine } from '../../engine/index.ts'
import type { AuditActor, AuditDraft, AuditEntry } from '../../engine/ports/audit.ts'
import type { Users } from '../../engine/ports/users.ts'
import { type DeviceId, parseDeviceId } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { API } from '../../schemas/operation.ts'
import type { Caller } from '../auth/caller.ts'
import { normalEmail } from '../auth/normal-email.ts'
import { API_LIMITS } from '../limits.ts'
import type { Logger } from '../logger.ts'
import { pathOf } from './problems.ts'
import type { Route } from './route.ts'

interface AuditOptions {
  readonly engine: Pick<Engine, 'record' | 'recordRefusal'>
  readonly users: Pick<Users, 'getByEmail'>
  readonly logger: Logger
}

const FIELD_CHARS_MAX = 64

/** Called when the answer is known but not yet sent. Returns undefined if the answer need not wait. */
export type Audit = (request: FastifyRequest, reply: FastifyReply) => Promise<void> | undefined

export function createAudit({ engine, users, logger }: AuditOptions): (route: Route) => Audit | undefined {
  const store = async (entry: AuditEntry) => {
    try {
      await engine.record([entry])
    } catch (err) {
      logger.error({ entry, err }, 'the store did not take an audit entry: it is in this line only')
    }
  }
  return (route) => {
    if (!(route.isAudited ?? route.method !== 'GET')) return undefined
    return (request, reply) => {
      if (request.isSigned && request.auditDetail === undefined && reply.statusCode < 500) return undefined
      const entry = toEntry(route, request, reply)
      if (entry.outcome !== 'refused' || entry.actor.type !== 'anonymous') return store(entry)
      engine.recordRefusal({ ...entry, target: accountOf(entry.actor, users) })
      return undefined
    }
  }
}

function toEntry(route: Route, request: FastifyRequest, reply: FastifyReply): AuditEntry {
  const { statusCode } = reply
  const actor = actorOf(request)
  const outcome = statusCode < 400 ? 'success' : statusCode < 500 ? 'refused' : 'failed'
  const entry: AuditEntry = {
    actor,
    action: route.operationId,
    outcome,
    code: request.refusal,
    requestId: request.id,
    ip: request.ip,
  }
  if (actor.type === 'anonymous' && outcome !== 'success') return entry
  return {
    ...entry,
    target: targetOf(request, reply),
    deviceId: deviceOf(request),
    detail: { ...fieldsOf(route, request.body), ...request.auditDetail },
  }
}

/** The entry of a signed call. The engine adds the outcome (A3). */
export function authorshipOf(
  route: Route,
  request: FastifyRequest,
  about: Partial<Pick<AuditDraft, 'target' | 'detail'>> = {},
): Authorship {
  const { caller } = request
  assert(caller !== undefined, 'only a known caller can sign a request to the engine')
  request.isSigned = true
  const entry: AuditDraft = {
    actor: knownActor(caller),
    action: route.operationId,
    target: about.target ?? belowApi(pathOf(request.url)),
    requestId: request.id,
    ip: request.ip,
    detail: about.detail ?? fieldsOf(route, request.body),
  }
  return { by: userAuthor(caller.id), entry }
}

function actorOf({ caller, body }: FastifyRequest): AuditActor {
  if (caller === undefined) {
    // A caller who registers or fails to log in has named an e-mail address.
    const email = textAt(body, 'email')
    return { type: 'anonymous', name: email?.includes('@') === true ? email.toLowerCase() : undefined }
  }
  return knownActor(caller)
}

function accountOf({ name }: AuditActor, users: AuditOptions['users']): string | undefined {
  const user = name === undefined ? undefined : users.getByEmail(normalEmail(name))
  return user && `users/${user.id}`
}

/** A person with a login, or a service with a key. */
function knownActor({ id, email, name }: Caller): AuditActor {
  return email === undefined ? { type: 'api_key', id, name } : { type: 'user', id, name: email }
}

/** The resource that was created; otherwise the path that was called. */
function targetOf(request: FastifyRequest, reply: FastifyReply): string {
  const location = reply.getHeader('location')
  return belowApi(typeof location === 'string' ? location : pathOf(request.url))
}

const belowApi = (path: string) => (path.startsWith(`${API}/`) ? path.slice(API.length + 1) : path.slice(1))

function deviceOf({ params, body }: FastifyRequest): DeviceId | undefined {
  return parseDeviceId(textAt(params, 'device_id') ?? textAt(body, 'device_id') ?? '')
}

/** Leaves out names that the schema does not know. For an operation that accepts any name, their number is bounded. */
function fieldsOf({ body: schema, streamsBody }: Route, body: unknown): JsonObject {
  if (streamsBody === true || !isPlain(body)) return {}
  const known = schema !== undefined && 'properties' in schema ? Object(schema.properties) : undefined
  const names = Object.keys(body).filter((name) => known === undefined || Object.hasOwn(known, name))
  return { fields: names.slice(0, API_LIMITS.auditFieldsMax).map((name) => name.slice(0, FIELD_CHARS_MAX)) }
}

function textAt(value: unknown, name: string): string | undefined {
  const found = isPlain(value) ? value[name] : undefined
  return typeof found === 'string' ? found : undefined
}

/** Whether a value is a plain object rather than a list or a stream. */
function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Readable)
}
