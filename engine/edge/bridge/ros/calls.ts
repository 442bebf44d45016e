// Tracks service calls and action goals until they end.
import type { Json } from '../../../../schemas/json.ts'
import type { Incoming } from './incoming.ts'

/** An error of ROS. The command fails with its code. */
export class RosError extends Error {
  override readonly name = 'RosError'
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

interface PendingCall {
  readonly resolve: (values: Json) => void
  readonly reject: (error: RosError) => void
  readonly feedback: (values: Json) => void
}

const WAITING_MAX = 1_000
const SUCCEEDED = 4
const CANCELED = 5

export class Calls {
  readonly #waiting = new Map<string, PendingCall>()
  #count = 0

  /** Registers a call. `start` must send the request with this id. */
  begin(
    start: (id: string) => void,
    feedback: (values: Json) => void,
  ): {
    readonly id: string
    readonly ended: Promise<Json>
  } {
    if (this.#waiting.size >= WAITING_MAX)
      throw new RosError(
        'ROS_BUSY',
        `${WAITING_MAX} calls already wait for an answer from ROS; try again later`,
      )
    const id = `fleet:call:${++this.#count}`
    const ended = new Promise<Json>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, feedback })
    })
    try {
      start(id)
    } catch (error) {
      this.#waiting.delete(id)
      throw error
    }
    return { id, ended }
  }

  /** Rejects the call. A later answer is ignored. */
  fail(id: string, error: RosError): void {
    this.#waiting.get(id)?.reject(error)
    this.#waiting.delete(id)
  }

  failAll(error: RosError): void {
    for (const id of [...this.#waiting.keys()]) this.fail(id, error)
  }

  /** Returns false if the message belongs to no pending call. */
  take(incoming: Incoming): boolean {
    if (!('id' in incoming) || incoming.id === undefined) return false
    const { id } = incoming
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return false
    if (incoming.kind === 'feedback') {
      waiting.feedback(incoming.values)
      return true
    }
    const error = errorOf(incoming)
    if (error !== undefined) this.fail(id, error)
    else if (incoming.kind === 'answer' || incoming.kind === 'result') {
      this.#waiting.delete(id)
      waiting.resolve(incoming.values)
    }
    return true
  }
}

function errorOf(incoming: Incoming): RosError | undefined {
  if (incoming.kind === 'answer')
    return incoming.isOk ? undefined : new RosError('SERVICE_FAILED', textOf(incoming.values))
  if (incoming.kind === 'status')
    return incoming.level === 'error' ? new RosError('ROS_REFUSED', incoming.text) : undefined
  if (incoming.kind !== 'result') return undefined
  if (incoming.status === CANCELED) return new RosError('CANCELED', 'the goal was cancelled')
  if (incoming.status === SUCCEEDED || (incoming.status === undefined && incoming.isOk)) return undefined
  return new RosError('ABORTED', textOf(incoming.values))
}

function textOf(values: Json): string {
  return typeof values === 'string' ? values : JSON.stringify(values)
}
