// The part of a simulated device that receives commands and desired state. It answers rightly or wrongly, and reports
// state.
import { Buffer } from 'node:buffer'
import type { DeviceId } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { Command } from '../domain/command/record.ts'
import type { SimTime } from '../testing/time.ts'
import type { Dice } from './dice.ts'
import type { Luck } from './faults.ts'

/** Knows what has been saved and promised. */
export interface Witness {
  commandOf(deviceId: DeviceId, commandId: string): Command | undefined
  /** Returns the greatest version of the device's shadow that was ever saved. */
  versionOf(deviceId: DeviceId): number
  /** True once a caller was told that the device is decommissioned, so nothing may be sent to it. */
  isGone(deviceId: DeviceId): boolean
  /** How far the clock of a node may be off. */
  readonly skewMs: number
  violate(what: string): void
}

interface ControlOptions {
  readonly id: DeviceId
  readonly dice: Dice
  readonly time: SimTime
  readonly luck: () => Luck
  readonly witness: Witness
  readonly say: (suffix: string, payload: string, acked: () => void) => void
}

interface Message {
  readonly suffix: string
  readonly payload: Uint8Array
}

const FINALS = ['completed', 'failed', 'rejected'] as const
const CANCEL = '$cancel'

export class Control {
  /** Ids of the commands that the device received. */
  readonly received = new Set<string>()
  /** The final answers to each command. The value is true if the answer was acknowledged. */
  readonly answers = new Map<string, Map<string, boolean>>()
  /** Commands with a final answer that was acknowledged in time. */
  readonly inTime = new Set<string>()
  /** Commands that were cancelled before they were sent, so they must never reach the device. */
  readonly forbidden = new Set<string>()
  /** The newest reported value that was acknowledged. */
  reported = 0
  /** The last desired state that the device received. */
  desired: { readonly version: number; readonly state: JsonObject } | undefined
  readonly #options: ControlOptions
  readonly #todo: string[] = []
  readonly #expiries = new Map<string, number>()
  #reports = 0

  constructor(options: ControlOptions) {
    this.#options = options
  }

  hear({ suffix, payload }: Message): void {
    // An empty payload tells a gateway that a device no longer has a desired state.
    if (payload.length === 0) return
    if (suffix === 'command') this.#hearCommand(parse(payload))
    if (suffix === 'shadow/desired') this.#hearDesired(parse(payload))
  }

  act(): void {
    const { dice } = this.#options
    const what = dice.roll()
    if (what < 0.4) this.#answer()
    else if (what < 0.6) this.#report()
    else if (what < 0.63) this.#say('shadow/get', {})
    else if (what < 0.66) this.#say('shadow/desired', { version: 99, state: { forged: true } })
    else if (what < 0.69) this.#guess()
  }

  #hearCommand(body: JsonObject): void {
    const { id, time, witness } = this.#options
    // A device that is subscribed to its own topic gets its own forged message back.
    if (typeof body['expires_at'] !== 'string') return
    const requestId = String(body['request_id'])
    const isCancel = body['command'] === CANCEL
    const commandId = isCancel ? requestId.replace(/_cancel$/, '') : requestId
    const saved = witness.commandOf(id, commandId)
    if (time.now() >= Date.parse(body['expires_at']) + witness.skewMs)
      witness.violate(`${id} got ${requestId} after it had expired`)
    if (witness.isGone(id)) witness.violate(`${id} is decommissioned and got ${requestId}`)
    const delivery = isCancel ? saved?.notice : saved?.delivery
    if (delivery === undefined || delivery.attempts === 0)
      witness.violate(`${id} got ${requestId} before that was saved (R4)`)
    if (!isCancel && saved?.status !== 'pending')
      witness.violate(`${id} got ${requestId}, which is ${saved?.status}`)
    if (this.forbidden.has(commandId)) witness.violate(`${id} got ${requestId}, which was cancelled unsent`)
    if (isCancel) return
    if (!this.received.has(commandId)) this.#todo.push(commandId)
    this.#expiries.set(commandId, Date.parse(body['expires_at']))
    this.received.add(commandId)
  }

  #hearDesired(body: JsonObject): void {
    if (body['version'] === 99) return
    const { id, witness } = this.#options
    // `desiredMessage` wrote the payload.
    const desired = body as unknown as { readonly version: number; readonly state: JsonObject }
    if (witness.isGone(id)) witness.violate(`${id} is decommissioned and got a desired state`)
    const saved = witness.versionOf(id)
    if (desired.version > saved)
      witness.violate(`${id} got shadow ${desired.version}, but ${saved} is saved (R4)`)
    this.desired = desired
  }

  #answer(): void {
    const { dice } = this.#options
    const [commandId] = this.#todo
    if (commandId === undefined) return
    if (dice.chance(0.3)) {
      this.#say('command/ack', {
        request_id: commandId,
        status: 'in_progress',
        progress: dice.between(0, 99),
      })
      return
    }
    // Sometimes the device answers again, with the same or another status.
    if (!dice.chance(0.2)) this.#todo.shift()
    const status = dice.pick(FINALS)
    const said = this.answers.get(commandId) ?? new Map<string, boolean>()
    this.answers.set(commandId, said.set(status, said.get(status) ?? false))
    const suffix = dice.chance(0.8) ? 'command/ack' : 'telemetry'
    this.#say(suffix, { request_id: commandId, status }, () => {
      said.set(status, true)
      const { time, witness } = this.#options
      // If the clock was set back, the service may use a later time than now, but none later than the latest so far.
      const at = time.latest() + witness.skewMs
      if (at < (this.#expiries.get(commandId) ?? 0)) this.inTime.add(commandId)
    })
  }

  /** Answers a command that the device may not have received, or that is for another device. */
  #guess(): void {
    const commandId = `c${this.#options.dice.between(1, 40)}`
    const said = this.answers.get(commandId) ?? new Map<string, boolean>()
    this.answers.set(commandId, said.set('completed', said.get('completed') ?? false))
    this.#say('command/ack', { request_id: commandId, status: 'completed' })
  }

  #report(): void {
    const { dice } = this.#options
    const r = ++this.#reports
    const state = { r, ...(dice.chance(0.5) ? this.desired?.state : {}) }
    this.#say('shadow/reported', dice.chance(0.5) ? state : { state, client_token: 't' }, () => {
      this.reported = Math.max(this.reported, r)
    })
  }

  #say(suffix: string, body: object, acked: () => void = () => {}): void {
    this.#options.say(suffix, JSON.stringify(body), acked)
  }
}

function parse(payload: Uint8Array): JsonObject {
  return JSON.parse(Buffer.from(payload).toString())
}
