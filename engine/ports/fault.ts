// A fault is a failure of the environment. The caller retries, degrades or translates it.

export const FAULT_CODES = [
  'LOG_UNAVAILABLE',
  'LOG_FULL',
  'STORE_UNAVAILABLE',
  'STORE_FENCED',
  'OWNERSHIP_UNAVAILABLE',
  /** Another node did not answer, so it is unknown whether it carried out the request. */
  'NODE_UNREACHABLE',
  /** There was no node to ask, so the request was not carried out. */
  'NODE_ABSENT',
  /** Another node failed to carry out the request, and a retry would fail too. */
  'NODE_FAILED',
  'TELEMETRY_UNAVAILABLE',
  'TELEMETRY_REFUSED',
  /** The query would read more than is allowed. A smaller query helps. */
  'TELEMETRY_TOO_MUCH',
  /** A later version of the service created the tables. */
  'TELEMETRY_TOO_NEW',
  /** ClickHouse rejects our credentials. */
  'TELEMETRY_FORBIDDEN',
  'BROKER_UNAVAILABLE',
  'BLOBS_UNAVAILABLE',
  'DATA_DIR_TOO_NEW',
  'DATA_DIR_IN_USE',
  'DATA_DIR_UNUSABLE',
  'PORT_IN_USE',
  'TLS_FILES_WRONG',
  'SHARD_LOST',
  /** Another node owns the device's partition, or no node does at the moment. */
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
