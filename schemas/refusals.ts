// Every refusal of the service: the stable code, its HTTP status and its title. One catalogue for REST, MQTT and /ws.

export const REFUSALS = {
  BAD_REQUEST: { status: 400, title: 'The request cannot be read' },
  UNAUTHENTICATED: { status: 401, title: 'No valid access token' },
  TOKEN_EXPIRED: { status: 401, title: 'The access token has expired' },
  INVALID_CREDENTIALS: { status: 401, title: 'E-mail or password is wrong' },
  FORBIDDEN: { status: 403, title: 'Your role does not allow this' },
  REGISTRATION_LOCKED: { status: 403, title: 'Registration needs an admin' },
  NOT_FOUND: { status: 404, title: 'No such resource' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'This method is not allowed here' },
  ALREADY_EXISTS: { status: 409, title: 'It exists already' },
  INVALID_STATE_TRANSITION: { status: 409, title: 'It cannot move to that status' },
  DEVICE_DECOMMISSIONED: { status: 409, title: 'The device is decommissioned' },
  IDEMPOTENCY_KEY_REUSED: { status: 409, title: 'The idempotency key belongs to another request' },
  DEVICE_SHADOW_CONFLICT: { status: 409, title: 'Shadow version conflict' },
  REQUEST_TIMEOUT: { status: 408, title: 'The request did not arrive in time' },
  PRECONDITION_FAILED: { status: 412, title: 'The device has changed since' },
  PAYLOAD_TOO_LARGE: { status: 413, title: 'The body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'This content type is not accepted' },
  VALIDATION_FAILED: { status: 422, title: 'The request is not valid' },
  IMMUTABLE_FIELD: { status: 422, title: 'This field cannot be changed' },
  UNKNOWN_COMMAND: { status: 422, title: 'The device has no such command' },
  EMPTY_TARGET: { status: 422, title: 'There is no device to send this to' },
  COMMAND_QUEUE_FULL: { status: 429, title: 'Too many commands wait for the device' },
  RATE_LIMIT_EXCEEDED: { status: 429, title: 'Too many requests' },
  HEADERS_TOO_LARGE: { status: 431, title: 'The request headers are too large' },
  INTERNAL: { status: 500, title: 'The service made a mistake' },
  DEPENDENCY_UNAVAILABLE: { status: 503, title: 'A part of the service is not available' },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly title: string }>>

export type RefusalCode = keyof typeof REFUSALS
export const REFUSAL_CODES = Object.keys(REFUSALS) as readonly RefusalCode[]
