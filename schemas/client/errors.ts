// What a call can fail with, besides the caller's own abort.
import type { Problem } from '../problem.ts'

/** The service said no. `code` is stable; `problem` is the whole answer (RFC 9457). */
export class RefusalError extends Error {
  override readonly name = 'RefusalError'
  readonly code: Problem['code']
  readonly status: number
  readonly detail: string | undefined
  readonly requestId: string
  readonly problem: Problem
  /** How long the service asks to wait. */
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

/** `stranger`: an answer came, and not from the service; a proxy's, for one. */
export type ConnectionFault = 'unreachable' | 'timeout' | 'stranger'

/** There was no answer of the service: whether it has done what was asked is not known. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  readonly fault: ConnectionFault
  /** Of a stranger's answer. */
  readonly status: number | undefined

  constructor(fault: ConnectionFault, message: string, more: { cause?: unknown; status?: number } = {}) {
    super(message, { cause: more.cause })
    this.fault = fault
    this.status = more.status
  }
}
