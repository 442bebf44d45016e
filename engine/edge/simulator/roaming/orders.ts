// Keeps the commands that a simulated device was sent and creates their acks.
import { isObject, type JsonObject } from '../../../../schemas/json.ts'
import { type Body, hasArrived, type Point } from './motion.ts'
import { obey } from './obey.ts'

export interface OrderOutcome {
  readonly body: Body
  readonly acks: readonly JsonObject[]
}

interface Journey {
  readonly requestId: string
  readonly target: Point
}

const ANSWERS_KEPT_MAX = 64
const INTERRUPTED: JsonObject = { status: 'failed', error: { code: 'INTERRUPTED' } }

export class Orders {
  #journey: Journey | undefined
  readonly #answers = new Map<string, JsonObject>()

  get isBusy(): boolean {
    return this.#journey !== undefined
  }

  /** Carries out a command. A command that is delivered twice is answered twice and carried out once. */
  take(body: Body, message: JsonObject, time: string): OrderOutcome {
    const { request_id: requestId, command, data } = message
    if (typeof requestId !== 'string' || typeof command !== 'string') return { body, acks: [] }
    const given = this.#answers.get(requestId)
    if (given !== undefined) return { body, acks: [given] }
    if (command === '$cancel') return { body: this.#cancel(body, data), acks: [] }
    const obeyed = obey(body, command, isObject(data) ? data : {})
    switch (obeyed.kind) {
      case 'refused': {
        const error = { code: obeyed.code, message: obeyed.message }
        return { body, acks: [this.#answer(requestId, { status: 'failed', error }, time)] }
      }
      case 'done': {
        const ack = this.#answer(requestId, { status: 'completed', result: obeyed.result }, time)
        return { body: obeyed.body, acks: [ack] }
      }
      case 'started': {
        const interrupted = this.#end(INTERRUPTED, time)
        this.#journey = { requestId, target: obeyed.target }
        const ack = this.#answer(requestId, { status: 'acked', progress: 0 }, time)
        return { body: obeyed.body, acks: [...interrupted, ack] }
      }
    }
  }

  /** Returns the acks that follow from the new position of the device. */
  finish(body: Body, time: string): readonly JsonObject[] {
    if (this.#journey === undefined) return []
    if (hasArrived(body, this.#journey.target)) {
      return this.#end({ status: 'completed', result: { ...body.position } }, time)
    }
    return body.target === undefined ? this.#end(INTERRUPTED, time) : []
  }

  #cancel(body: Body, data: unknown): Body {
    const { request_id: requestId } = isObject(data) ? data : {}
    if (this.#journey === undefined || requestId !== this.#journey.requestId) return body
    this.#journey = undefined
    return { ...body, target: undefined }
  }

  #end(fields: JsonObject, time: string): readonly JsonObject[] {
    if (this.#journey === undefined) return []
    const { requestId } = this.#journey
    this.#journey = undefined
    return [this.#answer(requestId, fields, time)]
  }

  #answer(requestId: string, fields: JsonObject, time: string): JsonObject {
    const ack = { request_id: requestId, ...fields, executed_at: time }
    this.#answers.set(requestId, ack)
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > ANSWERS_KEPT_MAX && oldest !== undefined) this.#answers.delete(oldest)
    return ack
  }
}
