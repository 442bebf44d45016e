// The errors of a call, except for the caller's own abort.
import type { Problem } from '../problem.ts'

/** The service refused. `code` is stable, `problem` is the whole answer (RFC 9457). */
export class RefusalError extends Error {
  override readonly name = 'RefusalError'
  readonly code: Problem['code']
  readonly status: number
  readonly detail: string | undefined
  readonly requestId: string
  readonly problem: Problem
  /** The pause that the service asked for. */
  readonly retryAfterMs: number | undefined

  constructor(problem: Problem, retryAfterMs: number | undefined) {
    const { code, status, title, detail } = problem
    super(detail === undefined ? title : `${title}: ${detail}`)
    this.code = code
    this.status = status
    this.detail = detail
    this.requestId = problem.request_id
    this.problem = problem
    this.retryAfterMs = retryAfterMs
  }
}

/** `stranger` means that the answer came from something else, such as a proxy. */
export type ConnectionFault = 'unreachable' | 'timeout' | 'stranger'

/** The service did not answer, so it is unknown whether the request was carried out. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  readonly fault: ConnectionFault
  /** Status of the answer of a `stranger`. */
  readonly status: number | undefined

  constructor(fault: ConnectionFault, message: string, more: { cause?: unknown; status?: number } = {}) {
    super(message, { cause: more.cause })
    this.fault = fault
    this.status = more.status
  }
}
