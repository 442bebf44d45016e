// A simulated device or gateway: its connection, what it publishes and how it handles messages.
//
// D1. A device has one entry in the timer wheel for its reports and heartbeats. Everything else that it does later is a
// task of its own.
// - A sub-device publishes over the link of its gateway and has no session.
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { waitBeforeConnect } from '../../device/backoff.ts'
import { isActive } from '../decide/distort.ts'
import { draw } from '../decide/draw.ts'
import { COMMANDS } from '../roaming/obey.ts'
import type { Fault } from '../scenario/scenario.ts'
import type { ErrorKind } from '../scenario/summary.ts'
import { Link, type LinkOwner, type Wire } from '../wire/link.ts'
import { type Breakable, Breakage } from './breakage.ts'
import { Cadence } from './cadence.ts'
import { Duties, type Dutiful } from './duties.ts'
import type { Kin } from './kin.ts'
import { Measures } from './measures.ts'
import { Roamer } from './roamer.ts'
import { Turn, type TurnTaker } from './turn.ts'
import type { World } from './world.ts'

export interface Place {
  readonly world: World
  readonly kin: Kin
  /** The index within its type, from 0. */
  readonly index: number
  readonly over:
    | {
        readonly kind: 'own'
        readonly wire: Wire
        readonly token: string
        readonly localAddress: string | undefined
        readonly isGateway: boolean
      }
    | { readonly kind: 'gateway'; readonly gateway: SimDevice }
}

const HEARTBEAT_MS = 20_000
const MOVE_MS = 1_000
const WINDOW = 16
const GATEWAY_WINDOW = 4_096
/** The number of messages that a gateway keeps for a sub-device that is disconnected. */
const HELD_MAX = 16
const INBOX = ['command', 'shadow/desired', 'ota'] as const
const GATEWAY_INBOX = [...INBOX, ...INBOX.map((suffix) => `sub/+/${suffix}`)]
const KEPT = { qos: 1, retain: false } as const
const RETAINED = { qos: 1, retain: true } as const
const TELEMETRY = [{ qos: 0, retain: false }, KEPT] as const
const BACKOFF = 12

/** A device is `away` until it is told to connect. `off` and `stopped` are final. */
type State = 'new' | 'live' | 'away' | 'off' | 'stopped'

export class SimDevice implements LinkOwner, Breakable, Dutiful, TurnTaker {
  readonly id: string
  readonly index: number
  readonly world: World
  readonly kin: Kin
  readonly link: Link
  readonly subs: Map<string, SimDevice> | undefined
  readonly #prefix: string
  readonly isSub: boolean
  readonly #rank: number
  version: string
  #state: State = 'new'
  #isBooting = false
  #isGreeted = false
  #isMute = false
  #turn: Turn | undefined
  #sessions = 0
  #boots = 1
  #seq = 0
  #failures = 0
  readonly #cadence: Cadence
  #spokeAt = 0
  #bootedSec = 0
  #measures: Measures | undefined
  #breakage: Breakage | undefined
  roamer: Roamer | undefined
  readonly #duties: Duties
  #ota: string | undefined
  #held: { readonly suffix: string; readonly payload: Buffer }[] | undefined
  #onGreeted: (() => void) | undefined

  constructor({ world, kin, index, over }: Place) {
    const { plan } = kin
    this.world = world
    this.kin = kin
    this.index = index
    this.id = kin.idOf(index)
    this.version = plan.firmware.version
    this.#cadence = new Cadence(kin, index)
    this.#duties = new Duties(this)
    this.isSub = over.kind === 'gateway'
    this.#rank = over.kind === 'gateway' ? over.gateway.index + 1 : 0
    if (over.kind === 'gateway') {
      this.#prefix = `fleet/${over.gateway.id}/sub/${this.id}/`
      this.link = over.gateway.link
      over.gateway.subs?.set(this.id, this)
      return
    }
    this.#prefix = `fleet/${this.id}/`
    this.subs = over.isGateway ? new Map() : undefined
    this.link = new Link(
      over.wire,
      {
        ...{ clientId: this.id, token: over.token, keepAliveSec: plan.keepAliveSec },
        ...{ localAddress: over.localAddress, window: over.isGateway ? GATEWAY_WINDOW : WINDOW },
        nth: index,
        subscriptions: () => (over.isGateway ? GATEWAY_INBOX : INBOX).map((suffix) => this.#prefix + suffix),
      },
      this,
    )
    this.#keepAlive()
  }

  isConnected(): boolean {
    return this.#state === 'live' && this.link.isOpen && this.#isGreeted
  }

  /** Connects the device for the first time or after `disconnect`. */
  connect(): void {
    if (this.#state !== 'new' && this.#state !== 'away') return
    const isNew = this.#state === 'new'
    this.#state = 'live'
    if (isNew) this.break(this.kin.faultOf(this.index))
    this.#up()
  }

  /** Breaks the connection. The device stays away until it is told to connect. */
  disconnect(): void {
    if (this.#state !== 'live') return
    if (this.isSub) this.#say('status', this.#status('offline', 'lost'), RETAINED)
    this.#state = 'away'
    this.#down()
  }

  /** Breaks the connection and connects again at once. */
  storm(): void {
    if (this.#state === 'stopped' || this.#state === 'off') return
    this.#down()
    this.#state = 'live'
    this.#up()
  }

  /** Publishes that the device is offline and disconnects it for good. */
  stop(): void {
    if (this.#state === 'stopped') return
    const isThere = this.#state === 'live' && this.#isGreeted
    if (isThere && this.link.isOpen) this.#say('status', this.#status('offline', 'shutdown'), RETAINED)
    this.#state = 'stopped'
    if (!this.isSub) this.link.leave()
  }

  /** Stops the device together with the whole fleet. The offline status of a gateway also covers its sub-devices, so
   *  they publish none. */
  leave(): void {
    if (this.isSub) this.#state = 'stopped'
    else this.stop()
  }

  override(field: string, value: Json): void {
    this.#measures ??= this.#measure()
    this.#measures.override(field, value)
  }

  setInterval(ms: number): void {
    if (!this.#cadence.setInterval(ms) || this.#turn === undefined) return
    const now = this.world.now()
    this.#cadence.restart(now)
    this.#schedule(now)
  }

  /** Replaces the current fault. Undefined means none. */
  break(fault: Fault | undefined): void {
    this.#breakage?.end()
    this.#breakage = fault === undefined ? undefined : new Breakage(this, fault)
  }

  /** Makes the connection half-open: the device neither sends nor receives, and does not notice. */
  mute(isMute: boolean): void {
    this.#isMute = isMute
    if (this.isSub) return
    this.link.mute(isMute)
    // The broker has given up the silent connection by now.
    if (!isMute) this.storm()
  }

  /** Called when its entry in the wheel is due. */
  run(turn: Turn, now: number): void {
    // The device has been rescheduled, so this entry is outdated (D1).
    if (turn !== this.#turn) return
    if (this.#state === 'stopped' || this.#state === 'off') return
    if (this.roamer !== undefined)
      this.#duties.answer(this.roamer.move(this.world.elapsedSec(), this.world.stamp()))
    const canSpeak = this.isConnected() && !this.#isMute && !this.world.isQuiet
    if (now + 1 >= this.#cadence.dueAt) {
      this.#cadence.advance(now)
      if (canSpeak) this.#report(now)
    } else if (canSpeak && now - this.#spokeAt >= HEARTBEAT_MS) {
      this.#spokeAt = now
      this.#say('status', this.#status('online', 'heartbeat'), RETAINED)
    }
    this.#schedule(now, turn)
  }

  will(): { readonly topic: string; readonly payload: string } {
    this.#sessions++
    return { topic: `${this.#prefix}status`, payload: JSON.stringify(this.#status('offline', 'lwt')) }
  }

  opened(): void {
    this.#failures = 0
    this.#greet()
    const subs = this.subs === undefined ? [] : [...this.subs.values()]
    for (const sub of subs) if (sub.#state === 'live' && !sub.#isGreeted) sub.#greet()
  }

  closed(cause: ErrorKind): void {
    if (cause === 'refused') {
      this.#state = 'off'
      this.world.log(
        { deviceId: this.id },
        'the broker refused a simulated device, which will not connect again; check its token',
      )
      return
    }
    if (this.#state !== 'live' || this.#isBooting) return
    const random = draw(this.kin.seed, BACKOFF, this.index, this.#sessions)
    const waitMs = waitBeforeConnect(++this.#failures, false, random)
    this.world.after(waitMs, () => {
      if (this.#state === 'live' && !this.#isBooting) this.link.open()
    })
  }

  message(topic: string, payload: Buffer): void {
    const suffix = topic.slice(this.#prefix.length)
    if (!suffix.startsWith('sub/')) {
      this.#receive(suffix, payload)
      return
    }
    const end = suffix.indexOf('/', 4)
    const sub = this.subs?.get(suffix.slice(4, end))
    if (sub !== undefined) sub.#receive(suffix.slice(end + 1), payload)
  }

  say(suffix: string, body: JsonObject): void {
    this.#say(suffix, body, KEPT)
  }

  sayRetained(suffix: string, body: JsonObject): void {
    this.#say(suffix, body, RETAINED)
  }

  hurry(): void {
    if (this.#turn !== undefined) this.#schedule(this.world.now())
  }

  /** Disconnects the device, which comes back on this version after a while. Without a version it never comes back. */
  async reboot(version: string | undefined): Promise<void> {
    if (version === undefined) this.#state = 'off'
    this.#isBooting = true
    this.#down()
    if (version === undefined) return
    this.version = version
    this.#boots++
    this.#bootedSec = this.world.elapsedSec()
    await new Promise<void>((resolve) => {
      this.#onGreeted = resolve
      this.world.after(this.kin.plan.firmware.rebootSec * 1_000, () => {
        this.#isBooting = false
        if (this.#state === 'live') this.#up()
      })
    })
  }

  /** Counts the new status of its update. */
  updating(status: string): void {
    this.world.counts.moveOta(this.#ota, status)
    this.#ota = status
  }

  #up(): void {
    if (this.#state !== 'live' || this.#isBooting || this.#isGreeted) return
    if (!this.isSub) this.link.open()
    else if (this.link.isOpen) this.#greet()
  }

  #down(): void {
    this.#isGreeted = false
    if (!this.isSub) this.link.cut()
  }

  #greet(): void {
    this.#isGreeted = true
    if (this.#isBooting) return
    this.#say('status', this.#status('online', 'connect'), RETAINED)
    this.#duties.report()
    const now = this.world.now()
    this.#spokeAt = now
    this.#measures ??= this.#measure()
    if (this.#turn === undefined) {
      this.#cadence.begin(now, this.isSub ? (at) => this.link.together(at) : undefined)
      this.#schedule(now)
    }
    const greeted = this.#onGreeted
    this.#onGreeted = undefined
    greeted?.()
    const held = this.#held ?? []
    this.#held = undefined
    for (const { suffix, payload } of held) this.#receive(suffix, payload)
  }

  /** Adds the entry of the device to the wheel. Without `turn` a new entry replaces the current one (D1). */
  #schedule(now: number, turn: Turn = new Turn(this, this.#rank)): void {
    const patienceMs = this.roamer?.isBusy ? MOVE_MS : HEARTBEAT_MS
    turn.dueAt = Math.min(this.#cadence.dueAt, now + patienceMs)
    this.#turn = turn
    this.world.add(turn)
  }

  #measure(): Measures {
    const { kin, world, index } = this
    if (kin.plan.telemetry.source.kind === 'motion')
      this.roamer ??= new Roamer(index + kin.seed, kin.plan.type, world.elapsedSec())
    return new Measures(this, this.roamer)
  }

  #report(now: number): void {
    this.#spokeAt = now
    this.#cadence.count++
    const text = this.#measures?.next(this.fault())
    if (text === undefined) return
    const { qos } = this.kin.plan.telemetry
    this.link.publish(`${this.#prefix}telemetry`, text, TELEMETRY[qos])
  }

  /** Returns the fault that is active now. */
  fault(): Fault | undefined {
    const fault = this.#breakage?.fault
    return fault !== undefined && isActive(fault, this.world.elapsedSec()) ? fault : undefined
  }

  #receive(suffix: string, payload: Buffer): void {
    if (this.#state === 'live' && this.#isGreeted && !this.#isBooting && !this.#isMute)
      this.#duties.receive(suffix, payload)
    else if (this.isSub && this.#state !== 'off' && this.#state !== 'stopped') {
      // The gateway has acknowledged the message and keeps it until the device is back.
      this.#held ??= []
      if (this.#held.length < HELD_MAX) this.#held.push({ suffix, payload: Buffer.from(payload) })
    }
  }

  #say(suffix: string, body: JsonObject, options: typeof KEPT | typeof RETAINED): void {
    this.link.publish(this.#prefix + suffix, JSON.stringify(body), options)
  }

  #status(status: 'online' | 'offline', reason: string): JsonObject {
    const { world, kin } = this
    const commands = kin.plan.telemetry.source.kind === 'motion' ? COMMANDS : [...kin.plan.commands.keys()]
    return {
      ...{ status, seq: this.#seq++, timestamp: world.stamp(), reason },
      ...(this.isSub ? {} : { session_id: `${world.runId}-${this.#sessions}` }),
      uptime_sec: Math.round(world.elapsedSec() - this.#bootedSec),
      firmware_version: this.version,
      boot_id: `${world.runId}-${this.#boots}`,
      capabilities: { commands },
    }
  }

  /** Checks the connection regularly until the device is stopped. */
  #keepAlive(): void {
    const everyMs = this.kin.plan.keepAliveSec * 250
    const run = (now: number): void => {
      if (this.#state === 'stopped' || this.#state === 'off') return
      this.link.check(now)
      check.dueAt = now + everyMs
      this.world.add(check)
    }
    const check = { dueAt: this.world.now() + everyMs, run }
    this.world.add(check)
  }
}
