// Handles the messages that a device receives: commands, the desired state and updates.
import { isObject, type JsonObject } from '../../../../schemas/json.ts'
import { parsePayload } from '../../payload.ts'
import { applyDesired, createReported, reportIntervalMs } from '../roaming/shadow.ts'
import type { Fault } from '../scenario/scenario.ts'
import type { Updater } from '../updates/updater.ts'
import { Inbox } from './inbox.ts'
import { openUpdater, type UpdatedDevice } from './open-updater.ts'
import type { Roamer } from './roamer.ts'

export interface DownlinkDevice extends UpdatedDevice {
  readonly roamer: Roamer | undefined
  /** Returns the fault that is active now. */
  activeFault(): Fault | undefined
  publishRetained(suffix: string, body: JsonObject): void
  setInterval(ms: number): void
  /** Runs the device soon, because it has started to move. */
  runNow(): void
}

export class DownlinkHandler {
  readonly #device: DownlinkDevice
  #reported: JsonObject
  /** The last version of the desired state that the device has received. */
  #seenVersion = 0
  #inbox: Inbox | undefined
  #updater: Updater | undefined

  constructor(device: DownlinkDevice) {
    const { telemetry, firmware } = device.cohort.plan
    this.#device = device
    const isRoaming = telemetry.source.kind === 'motion'
    this.#reported = isRoaming ? createReported(firmware.version, telemetry.intervalSec) : NO_STATE
  }

  /** Publishes the whole reported state. The device does so after each connect. */
  report(more: JsonObject = this.#reported): void {
    const state = { ...more, firmware_version: this.#device.version }
    this.#device.publishRetained('shadow/reported', state)
  }

  receive(suffix: string, payload: Buffer): void {
    const message = parsePayload(payload)
    if (message === undefined) return
    if (suffix === 'command') this.#onCommand(message)
    else if (suffix === 'shadow/desired') this.#onDesired(message)
    else if (suffix === 'ota') {
      this.#updater ??= openUpdater(this.#device)
      this.#updater.take(message)
    }
  }

  /** Publishes the acks of a device that moves. */
  publishAcks(acks: readonly JsonObject[]): void {
    for (const ack of acks) {
      const { status } = ack
      if (status === 'completed' || status === 'failed') this.#device.world.counts.commands[status]++
      this.#device.publish('command/ack', ack)
    }
  }

  #onCommand(message: JsonObject): void {
    const { world, index, cohort, roamer } = this.#device
    if (roamer !== undefined) {
      world.counts.commands.received++
      this.publishAcks(roamer.take(message, world.stamp()))
      if (roamer.isBusy) this.#device.runNow()
      return
    }
    this.#inbox ??= new Inbox({
      ...{ world, seed: cohort.seed, index, commands: cohort.plan.commands },
      activeFault: () => this.#device.activeFault(),
      publish: (ack) => this.#device.publish('command/ack', ack),
    })
    this.#inbox.take(message)
  }

  #onDesired(message: JsonObject): void {
    const { cohort, world, roamer } = this.#device
    const { follow, delayMs } = cohort.plan.shadow
    const { state, version } = message
    if (!follow || !isObject(state)) return
    if (typeof version === 'number') {
      // The message is outdated, or it was delivered again after a reconnect.
      if (version <= this.#seenVersion) return
      this.#seenVersion = version
    }
    const apply = (): void => {
      const applied = applyDesired(this.#reported, message)
      if (applied === undefined) return
      this.#reported = applied.reported
      if (roamer !== undefined) this.#device.setInterval(reportIntervalMs(applied.reported))
      this.report(applied.publish)
    }
    if (delayMs > 0) world.after(delayMs, apply)
    else apply()
  }
}

const NO_STATE: JsonObject = {}
