// What an error of ClickHouse means to the caller: try again later, give up, or ask for less.
import { errorText } from '../../../../schemas/error-text.ts'
import { Fault } from '../../../ports/fault.ts'
import { errorCode } from './clickhouse-link.ts'

/** Errors that the same bytes or the same statement would cause again. All others may be temporary. */
const REFUSED_CODES: ReadonlySet<number> = new Set([
  6, 8, 9, 10, 12, 20, 26, 27, 32, 33, 36, 44, 50, 53, 62, 69, 70, 117, 128, 131, 190, 349, 396, 469,
])
/** An unknown user, a wrong password, or a missing right: only the operator can help. */
const FORBIDDEN_CODES: ReadonlySet<number> = new Set([194, 497, 516])
const TOO_MANY_QUERIES = 202
const TOO_MANY_ROWS = 158
const MEMORY_LIMIT = 241

export function toFault(cause: unknown): Fault {
  if (cause instanceof Fault) return cause
  const message = errorText(cause)
  return REFUSED_CODES.has(errorCode(cause))
    ? new Fault('TELEMETRY_REFUSED', { retryable: false, message, cause })
    : new Fault('TELEMETRY_UNAVAILABLE', { retryable: true, message, cause })
}

export function toOpenFault(cause: unknown): Fault {
  if (!FORBIDDEN_CODES.has(errorCode(cause))) return toFault(cause)
  const message = `ClickHouse does not grant this user what Fleet needs; check the user, its password and its rights: ${errorText(cause)}`
  return new Fault('TELEMETRY_FORBIDDEN', { retryable: false, message, cause })
}

/** Throws `TELEMETRY_TOO_MUCH` if a query would read too many rows or need too much memory, else the cause. */
export function refuseTooMuch(cause: unknown): never {
  const code = errorCode(cause)
  const message = errorText(cause)
  const isTooMuch =
    code === TOO_MANY_ROWS || (code === MEMORY_LIMIT && message.includes('Query memory limit'))
  if (!isTooMuch) throw cause
  throw new Fault('TELEMETRY_TOO_MUCH', { retryable: false, message, cause })
}

/** ClickHouse is healthy, but already executes as many statements as it accepts. */
export function isBusy(cause: unknown): boolean {
  return errorCode(cause) === TOO_MANY_QUERIES
}
