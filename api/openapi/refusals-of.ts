// The refusals of an operation: those it declares, and those that follow from its shape.
import { API, type Operation } from '../../schemas/operation.ts'
import type { RefusalCode } from '../../schemas/refusals.ts'

export function refusalsOf(operation: Operation): readonly RefusalCode[] {
  const codes = new Set<RefusalCode>(operation.refusals ?? [])
  if (operation.access !== 'public') {
    codes.add('UNAUTHENTICATED').add('TOKEN_EXPIRED').add('DEPENDENCY_UNAVAILABLE')
    if (operation.access.length < 3) codes.add('FORBIDDEN')
  }
  if (operation.repeats !== undefined)
    codes.add('BAD_REQUEST').add('IDEMPOTENCY_KEY_REUSED').add('IDEMPOTENCY_KEY_IN_USE')
  if (operation.scope === 'device') codes.add('NOT_FOUND')
  if (operation.ownPagesOnly === true) codes.add('FORBIDDEN')
  codes.add('RATE_LIMIT_EXCEEDED')
  // Unknown parameters, which only probes ignore.
  if (operation.query !== undefined || operation.path.startsWith(API)) codes.add('VALIDATION_FAILED')
  // A path parameter that cannot be decoded.
  if (operation.params !== undefined) codes.add('BAD_REQUEST')
  if (operation.body !== undefined) codes.add('VALIDATION_FAILED').add('DEPENDENCY_UNAVAILABLE')
  if (isClosed(operation.body)) codes.add('UNKNOWN_FIELD')
  // A body is read even if the operation takes none.
  if (operation.method !== 'GET')
    codes.add('BAD_REQUEST').add('PAYLOAD_TOO_LARGE').add('UNSUPPORTED_MEDIA_TYPE')
  return [...codes]
}

const isClosed = (schema: unknown) =>
  (Object(schema) as { readonly additionalProperties?: unknown }).additionalProperties === false
