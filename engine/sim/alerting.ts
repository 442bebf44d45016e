// Alerts in the simulation: rules about telemetry and presence, a channel, and a receiver. The receiver fails, answers
// late, or its answer is lost. It must be told what was saved, and a move of an alert must always have the same message id.
import { ChannelId } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { ChannelSettings } from '../domain/alert/channel.ts'
import type { SendResult } from '../domain/alert/delivery.ts'
import type { Notice } from '../domain/alert/notice.ts'
import type { OutboundRequest } from '../ports/http-out.ts'
import type { Outbound } from '../ports/outbound.ts'
import { type FaultContext, mayDie } from './faults.ts'
import type { Receiver, World } from './world.ts'

const CHANNEL = ChannelId('ch_sim')
const VALUES = 'rul_values'
/** Devices send values from 0 to 9 as `extra`. An alert fires above this value. */
const EXTRA_MAX = 4
const TRIES_MAX = 6
const OK: SendResult = { kind: 'answered', status: 200, retryAfterSec: undefined }

interface Message {
  readonly id: string
  /** The alerts in the message, each with the revision that the message reports. */
  readonly alerts: readonly { readonly id: string; readonly revision: number }[]
  readonly isEnd: boolean
  /** How often the receiver took it, how often the sender was told of success, and how often of a failure. */
  arrived: number
  heard: number
  failed: number
}

export class Alerting implements Receiver {
  readonly #world: World
  readonly #messages = new Map<string, Message>()
  /** The id of the message that reported each move. */
  readonly #idOf = new Map<string, string>()
  /** Alerts whose end has been received. */
  readonly #ended = new Set<string>()
  #isAsking = false
  #asked = 0
  #lives = 0

  constructor(world: World) {
    this.#world = world
  }

  /** True once channel and rules exist. */
  get isReady(): boolean {
    return this.#asked >= this.#steps().length
  }

  startOver(): void {
    this.#lives++
    this.#isAsking = false
  }

  /** Creates the channel and then the rules, one in each call. */
  prepare(): void {
    const { process } = this.#world
    const step = this.#steps()[this.#asked]
    if (process === undefined || step === undefined || this.#isAsking) return
    this.#isAsking = true
    step(process.engine).then(
      ({ kind, ...why }) => {
        if (this.#world.process !== process) return
        this.#isAsking = false
        if (kind === 'refused') this.#world.violate(`alerts are refused: ${JSON.stringify(why)}`)
        else this.#asked++
      },
      () => {
        if (this.#world.process === process) this.#isAsking = false
      },
    )
  }

  outbound(context: FaultContext): Outbound {
    return {
      http: {
        judge: async () => ({ kind: 'allowed' }),
        send: async (request) => {
          await mayDie(context, 'before it notifies', undefined)
          const result = await this.#receive(request, context)
          return mayDie(context, 'after it notified', result)
        },
      },
      mail: undefined,
      links: { device: (id) => `/devices/${id}`, alert: (id) => `/alerts/${id}` },
      userAgent: 'fleet/sim',
    }
  }

  /** Every alert with a notice must have been received, unless all promised attempts failed. */
  checkAtRest(): void {
    for (const [alertId, notices] of this.#world.ledger.alerts.alerts()) {
      const [last] = notices.slice(-1)
      if (last === undefined || this.#isGivenUp(alertId)) continue
      const isTold = notices.some((notice) => this.#messageOf(notice)?.arrived)
      if (!isTold) this.#world.violate(`${alertId} ${last.event} was saved but never received`)
      if (last.event === 'resolved' && !this.#ended.has(alertId))
        this.#world.violate(`${alertId} is over but its end was never received`)
    }
  }

  /** An alert must be open if and only if the device's last value demands it, and the receiver must know every open one. */
  checkOpen(found: readonly JsonObject[]): void {
    const world = this.#world
    for (const device of world.devices) {
      const promised = world.promised.get(device.id)
      if (promised?.isRegistered !== true || device.mayBeGoneFrom < Number.POSITIVE_INFINITY) continue
      const value = world.rows.of(device.id, 'extra').at(-1)?.value
      const open = found.find((alert) => alert['rule_id'] === VALUES && alert['device_id'] === device.id)
      if ((value ?? 0) > EXTRA_MAX !== (open !== undefined))
        world.violate(`${device.id} has extra ${value}, its alert is ${JSON.stringify(open)}`)
    }
    for (const alert of found) {
      const id = String(alert['alert_id'])
      const isMuted = JSON.stringify(alert['suppressed_by']) !== '[]'
      const isTold = [...this.#messages.values()].some(
        ({ alerts, arrived }) => arrived > 0 && alerts.some((each) => each.id === id),
      )
      if (!isMuted && !isTold && !this.#isGivenUp(id)) world.violate(`${id} fires but was never received`)
    }
  }

  async #receive(request: OutboundRequest, context: FaultContext): Promise<SendResult> {
    const { dice, schedule, luck } = context
    const { receiverFails, delayMsMax } = luck()
    if (delayMsMax > 0) await schedule.sleep(dice.between(0, delayMsMax))
    if (context.isOver()) return new Promise(() => undefined)
    const message = this.#read(request)
    const isUnlucky = dice.chance(receiverFails)
    if (!isUnlucky || dice.chance(0.3)) this.#arrive(message)
    if (isUnlucky) {
      message.failed++
      return dice.pick<SendResult>([
        { kind: 'failed', code: 'ECONNRESET' },
        { kind: 'answered', status: 503, retryAfterSec: undefined },
      ])
    }
    message.heard++
    // Only a process that dies before it saves the answer may have its message sent again.
    if (message.heard > this.#lives)
      this.#world.violate(`${message.id} was sent ${message.heard} times by ${this.#lives} processes`)
    return OK
  }

  #read({ headers, body }: OutboundRequest): Message {
    const id = headers['webhook-id'] ?? ''
    const known = this.#messages.get(id)
    // This is the default body of a webhook.
    const { type, data } = JSON.parse(body) as {
      readonly type: string
      readonly data: {
        readonly notification_id: string
        readonly alerts: readonly { readonly alert_id: string; readonly revision: number }[]
      }
    }
    if (data.notification_id !== id) this.#world.violate(`${id} has ${data.notification_id} in its body`)
    const alerts = data.alerts.map(({ alert_id, revision }) => ({ id: alert_id, revision }))
    const message: Message = {
      ...{ id, alerts, isEnd: type === 'alert.resolved' },
      ...{ arrived: known?.arrived ?? 0, heard: known?.heard ?? 0, failed: known?.failed ?? 0 },
    }
    this.#messages.set(id, message)
    return message
  }

  #arrive(message: Message): void {
    const world = this.#world
    message.arrived++
    world.say(`told ${message.id}`)
    for (const { id, revision } of message.alerts) {
      const move = `${id} ${revision}`
      if (world.ledger.alerts.noticeOf(id, revision) === undefined)
        world.violate(`${move} was received in ${message.id} but not saved`)
      const before = this.#idOf.get(move)
      if (before !== undefined && before !== message.id)
        world.violate(`${move} was received as ${before} and as ${message.id}`)
      this.#idOf.set(move, message.id)
      if (!message.isEnd && this.#ended.has(id)) world.violate(`${move} was received after its end`)
      if (message.isEnd) this.#ended.add(id)
    }
  }

  #messageOf({ alertId, revision }: Notice): Message | undefined {
    return this.#messages.get(this.#idOf.get(`${alertId} ${revision}`) ?? '')
  }

  #isGivenUp(alertId: string): boolean {
    return [...this.#messages.values()].some(
      ({ alerts, failed }) => failed >= TRIES_MAX && alerts.some(({ id }) => id === alertId),
    )
  }

  #steps() {
    const by = 'usr_sim'
    const target = { type: 'all' } as const
    type Engine = NonNullable<World['process']>['engine']
    const rule = (id: string, wish: object) => (engine: Engine) =>
      engine.alerts.change({
        kind: 'create_rule',
        id,
        by,
        wish: { name: id, target, severity: 'critical', group_by: 'none', ...(wish as { condition: never }) },
      })
    return [
      (engine: Engine) => engine.channels({ op: 'create', id: CHANNEL, settings: SETTINGS, by }),
      rule(VALUES, {
        condition: { kind: 'threshold', metric: 'extra', op: '>', value: EXTRA_MAX },
        flap: { episodes: 4, within_sec: 60, hold_sec: 20 },
      }),
      rule('rul_late', {
        condition: { kind: 'threshold', metric: 'extra', op: '>', value: EXTRA_MAX },
        ...{ severity: 'warning', group_by: 'rule', for_sec: 3, keep_firing_for_sec: 5 },
      }),
      rule('rul_away', { condition: { kind: 'state', in: ['offline'] }, inhibit_when_offline: false }),
      rule('rul_fleet', {
        condition: {
          kind: 'fleet',
          of: { kind: 'state', in: ['offline'] },
          op: '>=',
          value: 2,
          unit: 'count',
        },
      }),
    ] as const
  }
}

const SETTINGS: ChannelSettings = {
  ...{
    name: 'sim',
    enabled: true,
    severity: ['info', 'warning', 'critical'],
    isDefault: true,
    group: undefined,
  },
  ...{ groupWaitSec: 2, groupIntervalSec: 0, ratePerMinute: 600, fallbackChannelId: undefined },
  sendResolved: undefined,
  target: {
    ...{ kind: 'webhook', url: 'https://sim.example.com/', method: 'POST', headers: {}, template: undefined },
    ...{ secret: 'whsec_c2ltdWxhdGlvbg==', former: undefined },
  },
}
