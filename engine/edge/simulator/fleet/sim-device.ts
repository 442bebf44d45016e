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
import { type BrokerAddress, Link, type LinkOwner } from '../wire/link.ts'
import { Cadence } from './cadence.ts'
import { ConnectionFault, type FaultyDevice } from './connection-fault.ts'
import type { DeviceCohort } from './device-cohort.ts'
import { type DownlinkDevice, DownlinkHandler } from './downlink-handler.ts'
import { Roamer } from './roamer.ts'
import { type RunOwner, ScheduledRun } from './scheduled-run.ts'
import { TelemetryGenerator } from './telemetry-generator.ts'
import type { World } from './world.ts'

export interface SimDeviceOptions {
  readonly world: World
  readonly cohort: DeviceCohort
  /** The index within its type, from 0. */
  readonly index: number
  readonly connection:
    | {
        readonly kind: 'own'
        readonly broker: BrokerAddress
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
const UNRETAINED = { qos: 1, retain: false } as const
const RETAINED = { qos: 1, retain: true } as const
const TELEMETRY = [{ qos: 0, retain: false }, UNRETAINED] as const
const BACKOFF = 12

/** A device is `away` until it is told to connect. `off` and `stopped` are final. */
type State = 'new' | 'live' | 'away' | 'off' | 'stopped'

export class SimDevice implements LinkOwner, FaultyDevice, DownlinkDevice, RunOwner {
  readonly id: string
  readonly index: number
  readonly world: World
  readonly cohort: DeviceCohort
  readonly link: Link
  readonly subs: Map<string, SimDevice> | undefined
  readonly #prefix: string
  readonly isSub: boolean
  readonly #rank: number
  version: string
  #state: State = 'new'
  #isBooting = false
  #isAnnounced = false
  #isMute = false
  #scheduledRun: ScheduledRun | undefined
  #sessions = 0
  #boots = 1
  #seq = 0
  #failures = 0
  readonly #cadence: Cadence
  #publishedAt = 0
  #bootedSec = 0
  #telemetry: TelemetryGenerator | undefined
  #connectionFault: ConnectionFault | undefined
  roamer: Roamer | undefined
  readonly #downlinks: DownlinkHandler
  #updateStatus: string | undefined
  #heldMessages: { readonly suffix: string; readonly payload: Buffer }[] | undefined
  #onAnnounced: (() => void) | undefined

  constructor({ world, cohort, index, connection }: SimDeviceOptions) {
    const { plan } = cohort
    this.world = world
    this.cohort = cohort
    this.index = index
    this.id = cohort.idOf(index)
    this.version = plan.firmware.version
    this.#cadence = new Cadence(cohort, index)
    this.#downlinks = new DownlinkHandler(this)
    this.isSub = connection.kind === 'gateway'
    this.#rank = connection.kind === 'gateway' ? connection.gateway.index + 1 : 0
    if (connection.kind === 'gateway') {
      this.#prefix = `fleet/${connection.gateway.id}/sub/${this.id}/`
      this.link = connection.gateway.link
      connection.gateway.subs?.set(this.id, this)
      return
    }
    this.#prefix = `fleet/${this.id}/`
    this.subs = connection.isGateway ? new Map() : undefined
    this.link = new Link(
      world,
      {
        ...connection.broker,
        ...{ clientId: this.id, token: connection.token, keepAliveSec: plan.keepAliveSec },
        ...{ localAddress: connection.localAddress, window: connection.isGateway ? GATEWAY_WINDOW : WINDOW },
        nth: index,
        subscriptions: () =>
          (connection.isGateway ? GATEWAY_INBOX : INBOX).map((suffix) => this.#prefix + suffix),
      },
      this,
    )
    this.#keepAlive()
  }

  isConnected(): boolean {
    return this.#state === 'live' && this.link.isOpen && this.#isAnnounced
  }

  /** Connects the device for the first time or after `disconnect`. */
  connect(): void {
    if (this.#state !== 'new' && this.#state !== 'away') return
    const isNew = this.#state === 'new'
    this.#state = 'live'
    if (isNew) this.setFault(this.cohort.faultOf(this.index))
    this.#openConnection()
  }

  /** Breaks the connection. The device stays away until it is told to connect. */
  disconnect(): void {
    if (this.#state !== 'live') return
    if (this.isSub) this.#publish('status', this.#status('offline', 'lost'), RETAINED)
    this.#state = 'away'
    this.#closeConnection()
  }

  /** Breaks the connection and connects again at once. */
  storm(): void {
    if (this.#state === 'stopped' || this.#state === 'off') return
    this.#closeConnection()
    this.#state = 'live'
    this.#openConnection()
  }

  /** Publishes that the device is offline and disconnects it for good. */
  stop(): void {
    if (this.#state === 'stopped') return
    const isOnline = this.#state === 'live' && this.#isAnnounced
    if (isOnline && this.link.isOpen) this.#publish('status', this.#status('offline', 'shutdown'), RETAINED)
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
    this.#telemetry ??= this.#createTelemetry()
    this.#telemetry.override(field, value)
  }

  setInterval(ms: number): void {
    if (!this.#cadence.setInterval(ms) || this.#scheduledRun === undefined) return
    const now = this.world.now()
    this.#cadence.restart(now)
    this.#schedule(now)
  }

  /** Replaces the current fault. Undefined means none. */
  setFault(fault: Fault | undefined): void {
    this.#connectionFault?.end()
    this.#connectionFault = fault === undefined ? undefined : new ConnectionFault(this, fault)
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
  run(run: ScheduledRun, now: number): void {
    // The device has been rescheduled, so this entry is outdated (D1).
    if (run !== this.#scheduledRun) return
    if (this.#state === 'stopped' || this.#state === 'off') return
    if (this.roamer !== undefined)
      this.#downlinks.publishAcks(this.roamer.move(this.world.elapsedSec(), this.world.stamp()))
    const canPublish = this.isConnected() && !this.#isMute && !this.world.isQuiet
    if (now + 1 >= this.#cadence.dueAt) {
      this.#cadence.advance(now)
      if (canPublish) this.#report(now)
    } else if (canPublish && now - this.#publishedAt >= HEARTBEAT_MS) {
      this.#publishedAt = now
      this.#publish('status', this.#status('online', 'heartbeat'), RETAINED)
    }
    this.#schedule(now, run)
  }

  will(): { readonly topic: string; readonly payload: string } {
    this.#sessions++
    return { topic: `${this.#prefix}status`, payload: JSON.stringify(this.#status('offline', 'lwt')) }
  }

  opened(): void {
    this.#failures = 0
    this.#announce()
    const subs = this.subs === undefined ? [] : [...this.subs.values()]
    for (const sub of subs) if (sub.#state === 'live' && !sub.#isAnnounced) sub.#announce()
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
    if (cause === 'unreachable') this.world.unreachable()
    if (this.#state !== 'live' || this.#isBooting) return
    const random = draw(this.cohort.seed, BACKOFF, this.index, this.#sessions)
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

  publish(suffix: string, body: JsonObject): void {
    this.#publish(suffix, body, UNRETAINED)
  }

  publishRetained(suffix: string, body: JsonObject): void {
    this.#publish(suffix, body, RETAINED)
  }

  runNow(): void {
    if (this.#scheduledRun !== undefined) this.#schedule(this.world.now())
  }

  /** Disconnects the device, which comes back on this version after a while. Without a version it never comes back. */
  async reboot(version: string | undefined): Promise<void> {
    if (version === undefined) this.#state = 'off'
    this.#isBooting = true
    this.#closeConnection()
    if (version === undefined) return
    this.version = version
    this.#boots++
    this.#bootedSec = this.world.elapsedSec()
    await new Promise<void>((resolve) => {
      this.#onAnnounced = resolve
      this.world.after(this.cohort.plan.firmware.rebootSec * 1_000, () => {
        this.#isBooting = false
        if (this.#state === 'live') this.#openConnection()
      })
    })
  }

  /** Counts the new status of its update. */
  updateStatusChanged(status: string): void {
    this.world.counts.moveOta(this.#updateStatus, status)
    this.#updateStatus = status
  }

  #openConnection(): void {
    if (this.#state !== 'live' || this.#isBooting || this.#isAnnounced) return
    if (!this.isSub) this.link.open()
    else if (this.link.isOpen) this.#announce()
  }

  #closeConnection(): void {
    this.#isAnnounced = false
    if (!this.isSub) this.link.cut()
  }

  #announce(): void {
    this.#isAnnounced = true
    if (this.#isBooting) return
    this.#publish('status', this.#status('online', 'connect'), RETAINED)
    this.#downlinks.report()
    const now = this.world.now()
    this.#publishedAt = now
    this.#telemetry ??= this.#createTelemetry()
    if (this.#scheduledRun === undefined) {
      this.#cadence.begin(now, this.isSub ? (at) => this.link.nextSendTime(at) : undefined)
      this.#schedule(now)
    }
    const announced = this.#onAnnounced
    this.#onAnnounced = undefined
    announced?.()
    const held = this.#heldMessages ?? []
    this.#heldMessages = undefined
    for (const { suffix, payload } of held) this.#receive(suffix, payload)
  }

  /** Adds the entry of the device to the wheel. Without `run` a new entry replaces the current one (D1). */
  #schedule(now: number, run: ScheduledRun = new ScheduledRun(this, this.#rank)): void {
    const pauseMsMax = this.roamer?.isBusy ? MOVE_MS : HEARTBEAT_MS
    run.dueAt = Math.min(this.#cadence.dueAt, now + pauseMsMax)
    this.#scheduledRun = run
    this.world.add(run)
  }

  #createTelemetry(): TelemetryGenerator {
    const { cohort, world, index } = this
    if (cohort.plan.telemetry.source.kind === 'motion')
      this.roamer ??= new Roamer(index + cohort.seed, cohort.plan.type, world.elapsedSec())
    return new TelemetryGenerator(this, this.roamer)
  }

  #report(now: number): void {
    this.#publishedAt = now
    this.#cadence.count++
    const text = this.#telemetry?.next(this.activeFault())
    if (text === undefined) return
    const { qos } = this.cohort.plan.telemetry
    this.link.publish(`${this.#prefix}telemetry`, text, TELEMETRY[qos])
  }

  /** Returns the fault that is active now. */
  activeFault(): Fault | undefined {
    const fault = this.#connectionFault?.fault
    return fault !== undefined && isActive(fault, this.world.elapsedSec()) ? fault : undefined
  }

  #receive(suffix: string, payload: Buffer): void {
    if (this.#state === 'live' && this.#isAnnounced && !this.#isBooting && !this.#isMute)
      this.#downlinks.receive(suffix, payload)
    else if (this.isSub && this.#state !== 'off' && this.#state !== 'stopped') {
      // The gateway has acknowledged the message and keeps it until the device is back.
      this.#heldMessages ??= []
      if (this.#heldMessages.length < HELD_MAX)
        this.#heldMessages.push({ suffix, payload: Buffer.from(payload) })
    }
  }

  #publish(suffix: string, body: JsonObject, options: typeof UNRETAINED | typeof RETAINED): void {
    this.link.publish(this.#prefix + suffix, JSON.stringify(body), options)
  }

  #status(status: 'online' | 'offline', reason: string): JsonObject {
    const { world, cohort } = this
    const commands =
      cohort.plan.telemetry.source.kind === 'motion' ? COMMANDS : [...cohort.plan.commands.keys()]
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
    const everyMs = this.cohort.plan.keepAliveSec * 250
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
