// One subscription of one socket: which events it receives, and when.
// Events wait until the subscription is released. Those that its snapshot already shows are then left out.
import type { Deployment } from '../../engine/domain/ota/deployment.ts'
import type { FeedEvent } from '../../engine/index.ts'
import { FLEET } from '../../engine/ports/feed.ts'
import { type DeviceId, parseDeviceId } from '../../schemas/ids.ts'
import type { Role } from '../../schemas/vocabulary.ts'
import type { SocketFilter, Subscribe } from '../../schemas/ws.ts'
import { isInScope } from '../auth/scope.ts'
import { FEED_CHANNELS } from './channels.ts'
import { type Facts, type Notice, ownGroupOf } from './notice.ts'
import { HELD_COST_BYTES, type Outbox, type Recipient } from './outbox.ts'
import type { Selection } from './selection.ts'
import { Throttle, type ThrottlePorts } from './throttle.ts'

/** The part of the fleet that a user may see. */
export interface Scope {
  readonly role: Role
  /** Group subtrees. Undefined means everything. */
  readonly groups: readonly string[] | undefined
}

/** The socket of a subscription, as the fan-out sees it. */
export interface Subscriber {
  readonly outbox: Outbox
  /** The user's current scope, computed once per `round`. Undefined if the user may no longer see anything. */
  scopeAt(round: number): Scope | undefined
  /** The same, computed again. */
  scopeNow(): Scope | undefined
  /** Whether the user may see this device on this channel now. `ownGroup` is for events that are not about a device. */
  maySee(deviceId: DeviceId, channel: Subscribe['channel'], ownGroup?: string): boolean
  /** Whether the user may see the devices of all these groups on this channel now. */
  maySeeAll(groups: readonly (string | undefined)[], channel: Subscribe['channel']): boolean
}

export interface SubscriptionPorts extends Omit<ThrottlePorts, 'send' | 'maySee' | 'countMissed' | 'flush'> {
  readonly limits: { readonly snapshotGuardMs: number }
}

/** All channels but `fleet`, which has its own. */
type FeedChannel = Exclude<Subscribe['channel'], 'fleet'>

export class Subscription implements Recipient {
  readonly id: string
  readonly channel: FeedChannel
  readonly filter: SocketFilter
  readonly deviceId: DeviceId | undefined
  readonly selection: Selection | undefined
  /** The user who selected the metrics, and whose limit of names they count against. */
  readonly userId: string
  readonly owner: Subscriber
  readonly #head: string
  readonly #throttle: Throttle | undefined
  readonly #ports: SubscriptionPorts
  #pending: Notice[] | undefined = []
  #isShown: ((notice: Notice) => boolean) | undefined
  #stopGuard: (() => void) | undefined
  #seq = 0

  constructor(
    frame: Subscribe & { readonly channel: FeedChannel },
    owner: Subscriber,
    { selection, userId }: Pick<Subscription, 'selection' | 'userId'>,
    ports: SubscriptionPorts,
  ) {
    this.id = frame.id
    this.channel = frame.channel
    this.filter = frame.filter ?? {}
    this.deviceId = parseDeviceId(this.filter.device_id)
    this.selection = selection
    this.userId = userId
    this.owner = owner
    this.#head = `{"type":"event","id":${JSON.stringify(frame.id)},"seq":`
    this.#ports = ports
    const intervalMs = FEED_CHANNELS.has(frame.channel) ? 0 : (frame.throttle_ms ?? 0)
    if (intervalMs > 0) this.#throttle = this.#openThrottle(intervalMs, ports)
  }

  /** Whether the device matches the filter's group, type and tag. An unknown device never matches these. */
  fits(facts: Facts | undefined): boolean {
    const { group, type, tag } = this.filter
    if (group !== undefined && !isInScope(facts?.group, [group])) return false
    if (type !== undefined && facts?.type !== type) return false
    return tag === undefined || (facts?.tags.includes(tag) ?? false)
  }

  /** Whether a whole deployment matches the filter. One that reaches beyond the filter's group does not. */
  fitsDeployment({ id, groups, firmware }: Deployment): boolean {
    const { group, type, tag, deployment_id: wanted } = this.filter
    if (tag !== undefined || (wanted !== undefined && wanted !== id)) return false
    if (type !== undefined && firmware.deviceType !== type) return false
    return group === undefined || groups.every((each) => isInScope(each, [group]))
  }

  /** Whether the event matches the deployment in the filter, if there is one, and was requested if it has to be. */
  fitsEvent(event: FeedEvent): boolean {
    const { deployment_id: wanted, pending } = this.filter
    if (event.kind === 'alert' && event.event === 'alert.pending' && pending !== true) return false
    return wanted === undefined || (event.kind === 'job' && event.job.plan.deploymentId === wanted)
  }

  deliver(notice: Notice): void {
    if (this.#pending !== undefined) this.#hold(this.#pending, notice)
    else if (this.#isShown?.(notice) === true) return
    else if (this.#throttle !== undefined) this.#throttle.take(notice)
    else this.owner.outbox.push(this, notice)
  }

  /** Starts sending events, from the first one that the snapshot does not show. The client has its answer by now. */
  release(isShown?: (notice: Notice) => boolean): void {
    const { schedule, limits } = this.#ports
    const pending = this.#takePending()
    this.#isShown = isShown
    if (isShown !== undefined)
      this.#stopGuard = schedule.after(limits.snapshotGuardMs, () => {
        this.#isShown = undefined
      })
    for (const notice of pending) this.deliver(notice)
    this.owner.outbox.flush()
  }

  frameOf(notice: Notice): string {
    this.#seq += 1
    return `${this.#head}${this.#seq},${notice.tail}`
  }

  maySee({ event, deviceId }: Notice): boolean {
    if (event.kind === 'deployment') return this.owner.maySeeAll(event.deployment.groups, this.channel)
    if (deviceId === undefined) return false
    const ownGroup = deviceId === FLEET ? ownGroupOf(event) : undefined
    return this.owner.maySee(deviceId, this.channel, ownGroup)
  }

  close(): void {
    this.#takePending()
    this.#stopGuard?.()
    this.#throttle?.close()
    this.owner.outbox.remove(this)
  }

  #hold(pending: Notice[], notice: Notice): void {
    if (this.#ports.budget.take(notice.tail.length + HELD_COST_BYTES)) pending.push(notice)
    else this.owner.outbox.countMissed(this)
  }

  #takePending(): readonly Notice[] {
    const pending = this.#pending ?? []
    this.#pending = undefined
    for (const notice of pending) this.#ports.budget.release(notice.tail.length + HELD_COST_BYTES)
    return pending
  }

  #openThrottle(intervalMs: number, ports: SubscriptionPorts): Throttle {
    const { outbox } = this.owner
    return new Throttle(intervalMs, {
      ...ports,
      send: (notice) => outbox.push(this, notice),
      maySee: (notice) => this.maySee(notice),
      countMissed: () => outbox.countMissed(this),
      flush: () => outbox.flush(),
    })
  }
}
