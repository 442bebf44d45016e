// A fault: the world failed. The caller retries, degrades or translates it.

export const FAULT_CODES = [
  'LOG_UNAVAILABLE',
  'LOG_FULL',
  'STORE_UNAVAILABLE',
  'STORE_FENCED',
  'OWNERSHIP_UNAVAILABLE',
  /** Another node does not answer: whether it did what was asked is not known. */
  'NODE_UNREACHABLE',
  /** Nobody was there to be asked: nothing was done. */
  'NODE_ABSENT',
  /** Another node could not do what was asked, and will not be able to. */
  'NODE_FAILED',
  'TELEMETRY_UNAVAILABLE',
  'TELEMETRY_REFUSED',
  /** The question is for more than may be read; asking for less helps. */
  'TELEMETRY_TOO_MUCH',
  /** Its tables were made by a later version. */
  'TELEMETRY_TOO_NEW',
  /** It does not let us in. */
  'TELEMETRY_FORBIDDEN',
  'BROKER_UNAVAILABLE',
  'BLOBS_UNAVAILABLE',
  'DATA_DIR_TOO_NEW',
  'DATA_DIR_IN_USE',
  'DATA_DIR_UNUSABLE',
  'PORT_IN_USE',
  'TLS_FILES_WRONG',
  'SHARD_LOST',
  /** The device's partition is another node's, or nobody's just now. */
  'NOT_OWNED',
  'OVERLOADED',
] as const
export type FaultCode = (typeof FAULT_CODES)[number]

export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: FaultCode
  readonly retryable: boolean

  constructor(code: FaultCode, options: { retryable: boolean; message?: string; cause?: unknown }) {
    super(options.message ?? code, { cause: options.cause })
    this.code = code
    this.retryable = options.retryable
  }
}
