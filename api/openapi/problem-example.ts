// An example problem for each code.
import { API } from '../../schemas/operation.ts'
import { type RefusalAbout, toProblem } from '../../schemas/problem.ts'
import { REFUSALS, type RefusalCode } from '../../schemas/refusals.ts'

export function problemExample(code: RefusalCode): object {
  const about = { instance: `${API}/devices/robot-7`, requestId: 'req_01jd0c3k9x7m2v5t8r4q6w1z0y' }
  return { summary: REFUSALS[code].title, value: toProblem({ code, detail: DETAILS[code] ?? {} }, about) }
}

const field = (path: string, place: string, code: string, message: string) => ({
  message: `${path}: ${message}`,
  errors: [{ path, in: place, code, message }],
})

const DETAILS: Readonly<Partial<Record<RefusalCode, RefusalAbout['detail']>>> = {
  BAD_REQUEST: { message: 'the body is not valid JSON, or has a key that is not allowed' },
  UNAUTHENTICATED: { message: 'send Authorization: Bearer <access_token>' },
  FORBIDDEN: { message: 'needs the role admin; yours is viewer' },
  NOT_FOUND: { message: 'no such device' },
  INVALID_STATE_TRANSITION: { from: 'decommissioned', to: 'online', allowed: [] },
  LIMIT_REACHED: { message: 'there are 1000 API keys', limit: 1_000 },
  IDEMPOTENCY_KEY_REUSED: { message: 'this Idempotency-Key came with another request before' },
  IDEMPOTENCY_KEY_IN_USE: { retry_after_sec: 1 },
  DEVICE_SHADOW_CONFLICT: { expected: 7, got: 6, delta: { report_interval_sec: 5 } },
  PRECONDITION_FAILED: { expected: '"4-1k2j3h"', got: '"3-9x8y7z"' },
  PAYLOAD_TOO_LARGE: { limit: 1_048_576, actual: 2_000_000 },
  UNSUPPORTED_MEDIA_TYPE: { message: 'send the body as content-type application/json' },
  VALIDATION_FAILED: field('/per_page', 'query', 'OUT_OF_RANGE', 'must be <= 200'),
  IMMUTABLE_FIELD: field('/type', 'body', 'IMMUTABLE_FIELD', 'cannot be changed'),
  UNKNOWN_COMMAND: field('/command', 'body', 'UNKNOWN_COMMAND', 'greenhouse takes open_vent, close_vent'),
  RATE_LIMIT_EXCEEDED: { message: 'too many requests of one user', limited: 'user', retry_after_sec: 1 },
  DEPENDENCY_UNAVAILABLE: {
    message: 'nothing is known to have happened; try again',
    dependency: 'log',
    retry_after_sec: 1,
  },
}
