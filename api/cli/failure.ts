// How a command fails: its exit code, its message, and advice on what to do.

import type { ConnectionError, RefusalError } from '../../schemas/client.ts'
import { errorText } from '../../schemas/error-text.ts'
import type { Problem } from '../../schemas/problem.ts'

/** Scripts rely on these codes. `fleet --help` documents them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notAllowed: 4,
  conflict: 5,
  unreachable: 6,
  unfinished: 7,
  interrupted: 130,
} as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}

export interface FailureReport {
  readonly exitCode: ExitCode
  readonly message: string
  readonly advice: string | undefined
  /** The service's code, if the service refused the request. */
  readonly code: string | undefined
  readonly requestId: string | undefined
}

export function toFailureReport(error: unknown): FailureReport {
  const base = { advice: undefined, code: undefined, requestId: undefined }
  if (error instanceof Failure) return { ...base, exitCode: error.exitCode, message: error.message }
  if (isRefusal(error)) return refusalReport(error)
  if (isConnection(error)) {
    const isUntrusted = UNTRUSTED.test(error.message)
    const advice = isUntrusted
      ? TRUST
      : 'check that the service is running; `fleet doctor` finds out more, --url and --context select another service'
    return { ...base, exitCode: EXIT.unreachable, message: error.message, advice }
  }
  return { ...base, exitCode: EXIT.failed, message: errorText(error) }
}

/** Node's error codes for certificates of an unknown authority. */
const UNTRUSTED = /SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF|UNABLE_TO_GET_ISSUER/
const TRUST =
  'this machine does not know the authority of its certificate: name the file with it, as in NODE_EXTRA_CA_CERTS=certs/ca.crt fleet login'

// Compared by name: the classes belong to the client, which is loaded only when it is needed.
const isRefusal = (error: unknown): error is RefusalError =>
  error instanceof Error && error.name === 'RefusalError'
const isConnection = (error: unknown): error is ConnectionError =>
  error instanceof Error && error.name === 'ConnectionError'

function refusalReport({ code, status, message, requestId, problem }: RefusalError): FailureReport {
  const fields = problem.errors?.map((error) => `${error.path || '/'} ${error.message}`) ?? []
  return {
    exitCode: refusalExit(status),
    message: fields.length > 1 ? `${problem.title}: ${fields.join('; ')}` : message,
    advice: adviceOf(problem),
    code,
    requestId,
  }
}

export function refusalExit(status: number): ExitCode {
  if (status === 404) return EXIT.notFound
  if (status === 401 || status === 403) return EXIT.notAllowed
  if (status === 409 || status === 412) return EXIT.conflict
  if (status === 400 || status === 413 || status === 422) return EXIT.usage
  return status === 503 ? EXIT.unreachable : EXIT.failed
}

function adviceOf({ code, allowed }: Problem): string | undefined {
  if (Array.isArray(allowed)) return `currently allowed: ${allowed.join(', ') || 'nothing'}`
  return ADVICE[code]
}

const ADVICE: Readonly<Partial<Record<string, string>>> = {
  UNAUTHENTICATED: 'run `fleet login`',
  TOKEN_EXPIRED: 'run `fleet login` again',
  FORBIDDEN: 'ask an admin, or use another login (see `fleet contexts list`)',
  DEVICE_SHADOW_CONFLICT: 'run `fleet shadow get`, then try again with the version it shows',
  PRECONDITION_FAILED: 'somebody changed it first: read it again, and make your change to what it is now',
  AMBIGUOUS_FIRMWARE: 'run `fleet ota list` to see for which types it is, and name one by --type',
  EMPTY_TARGET: 'run `fleet devices list --group <group>` to see the devices of a group',
  UNKNOWN_COMMAND: 'run `fleet devices types` to see the commands of each type',
  RATE_LIMIT_EXCEEDED: 'wait a moment, then try again',
  REGISTRATION_LOCKED: 'ask an admin to register you',
}
