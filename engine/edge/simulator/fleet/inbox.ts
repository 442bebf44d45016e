// Handles the commands of a device that does not move, and keeps its answers.
import { isObject, type JsonObject } from '../../../../schemas/json.ts'
import { answer } from '../decide/answer.ts'
import type { CommandPlan, Fault } from '../scenario/scenario.ts'
import type { World } from './world.ts'

const KEPT_MAX = 64

export interface InboxOwner {
  readonly world: World
  readonly seed: number
  readonly index: number
  readonly commands: ReadonlyMap<string, CommandPlan>
  /** Returns the fault that is active now. */
  activeFault(): Fault | undefined
  publish(ack: JsonObject): void
}

export class Inbox {
  readonly #owner: InboxOwner
  /** The last answer to each command. Undefined while there is none, `cancelled` if there will be none. */
  readonly #answers = new Map<string, JsonObject | 'cancelled' | undefined>()
  #count = 0

  constructor(owner: InboxOwner) {
    this.#owner = owner
  }

  /** A command that is delivered twice is answered twice and carried out once. */
  take({ request_id: requestId, command, data, expires_at: expiresAt }: JsonObject): void {
    if (typeof requestId !== 'string' || typeof command !== 'string') return
    if (command === '$cancel') this.#cancel(data)
    else this.#carryOut(requestId, command, expiresAt)
  }

  #carryOut(requestId: string, command: string, expiresAt: unknown): void {
    const { commands, index, seed, world } = this.#owner
    const { counts } = world
    counts.commands.received++
    if (this.#answers.has(requestId)) {
      counts.commands.repeated++
      const last = this.#answers.get(requestId)
      if (isObject(last)) this.#owner.publish(last)
      return
    }
    this.#answers.set(requestId, undefined)
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > KEPT_MAX && oldest !== undefined) this.#answers.delete(oldest)
    if (typeof expiresAt === 'string' && Date.parse(expiresAt) <= Date.now()) {
      counts.commands.ignored++
      const error = { code: 'EXPIRED', message: 'the command arrived after it had expired' }
      this.#publish(requestId, { status: 'rejected', error })
      return
    }
    const { fate, acks } = answer(commands, { seed, device: index, command, nth: this.#count++ })
    counts.commands[fate]++
    for (const { afterMs, ack } of acks) this.#publishLater(requestId, ack, afterMs)
  }

  #publishLater(requestId: string, ack: JsonObject, afterMs: number): void {
    const fault = this.#owner.activeFault()
    const lateMs = fault?.kind === 'late_acks' ? fault.delaySec * 1_000 : 0
    if (afterMs + lateMs === 0) this.#publish(requestId, ack)
    else this.#owner.world.after(afterMs + lateMs, () => this.#publish(requestId, ack))
  }

  #publish(requestId: string, fields: JsonObject): void {
    if (this.#answers.get(requestId) === 'cancelled') return
    const { world } = this.#owner
    const ack = { request_id: requestId, ...fields, executed_at: world.stamp() }
    this.#answers.set(requestId, ack)
    const fault = this.#owner.activeFault()
    const times = fault?.kind === 'duplicate_acks' ? fault.times : 1
    for (let time = 0; time < times; time++) this.#owner.publish(ack)
  }

  #cancel(data: unknown): void {
    const { request_id: requestId } = isObject(data) ? data : {}
    if (typeof requestId !== 'string' || !this.#answers.has(requestId)) return
    const last = this.#answers.get(requestId)
    const isOver = isObject(last) && last['status'] !== 'acked'
    if (!isOver) this.#answers.set(requestId, 'cancelled')
  }
}
