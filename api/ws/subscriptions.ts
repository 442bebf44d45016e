// The subscriptions of one socket: which ones are allowed, how they are opened, and how they end.
import type { HeartbeatTimeouts } from '../../engine/domain/device/heartbeat.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { Schedule } from '../../engine/ports/schedule.ts'
import { parseDeviceId } from '../../schemas/ids.ts'
import { type CloseReason, frameText, type Subscribe } from '../../schemas/ws.ts'
import type { Caller } from '../auth/caller.ts'
import { isInScope, scopeOf } from '../auth/scope.ts'
import type { API_LIMITS } from '../limits.ts'
import type { WorkBudget } from '../rates/work-budget.ts'
import { type Refusal, roleNeeded } from '../refusal.ts'
import type { Budget } from './budget.ts'
import { CHANNEL_ROLES } from './channels.ts'
import type { FleetHub } from './fleet-hub.ts'
import { FleetSubscription } from './fleet-subscription.ts'
import type { Hub } from './hub.ts'
import { refusal, type SocketRefusal } from './refusal-frame.ts'
import type { Selections } from './selection.ts'
import { openSnapshot } from './snapshots.ts'
import type { SocketEngine } from './socket-engine.ts'
import { refuseMisplaced, refuseTooManyFleet, tooManyBroad, tooManyNames } from './subscribe-checks.ts'
import { type Subscriber, Subscription } from './subscription.ts'
import type { Tally } from './tally.ts'

export interface SubscriptionsHost {
  /** Undefined if the login has ended. */
  readonly user: () => Caller | undefined
  readonly isClosed: () => boolean
  readonly refuse: (about: SocketRefusal) => void
  readonly refuseAndEnd: (why: CloseReason, about: SocketRefusal) => void
}

export interface SubscriptionsPorts extends SubscriptionsHost, HeartbeatTimeouts {
  readonly engine: SocketEngine
  readonly hub: Hub
  readonly fleetHub: FleetHub
  readonly selections: Selections
  /** The bytes that may be held for the socket. */
  readonly budget: Budget
  readonly clock: Clock
  readonly work: Pick<WorkBudget, 'spend'>
  readonly schedule: Pick<Schedule, 'after'>
  readonly limits: { readonly [Name in keyof typeof API_LIMITS]: number }
  readonly tally: Tally
  readonly publicUrl?: (() => string) | undefined
}

export class Subscriptions {
  readonly #owner: Subscriber
  readonly #ports: SubscriptionsPorts
  readonly #open = new Map<string, Subscription | FleetSubscription>()

  constructor(owner: Subscriber, ports: SubscriptionsPorts) {
    this.#owner = owner
    this.#ports = ports
  }

  get count(): number {
    return this.#open.size
  }

  close(): void {
    for (const subscription of [...this.#open.values()]) this.#drop(subscription)
  }

  async add(frame: Subscribe): Promise<void> {
    const { hub, limits, selections } = this.#ports
    const user = this.#ports.user()
    if (user === undefined) return
    if (this.#open.size >= limits.subscriptionsPerSocketMax)
      return this.#ports.refuseAndEnd(
        'tooMany',
        refusal('RATE_LIMIT_EXCEEDED', 'this socket has too many subscriptions; end one', frame.id),
      )
    const refused = this.#refusalOf(frame, user)
    if (refused !== undefined) return this.#ports.refuse(refused)
    const { channel } = frame
    if (channel === 'fleet') return await this.#addFleet(frame, user)
    const metrics = frame.filter?.metrics
    const deviceId = parseDeviceId(frame.filter?.device_id)
    if (!hub.hasRoomFor({ deviceId, userId: user.id }))
      return this.#ports.refuse(tooManyBroad(limits, frame.id))
    const selection = metrics === undefined ? undefined : selections.open(metrics, user.id)
    if (metrics !== undefined && selection === undefined)
      return this.#ports.refuse(tooManyNames(limits, frame.id))
    const subscription = new Subscription(
      { ...frame, channel },
      this.#owner,
      { selection, userId: user.id },
      this.#ports,
    )
    this.#open.set(frame.id, subscription)
    try {
      const snapshotRefusal = await this.#begin(subscription, frame)
      if (snapshotRefusal === undefined) return
      this.#drop(subscription)
      this.#ports.refuse({ ...snapshotRefusal, id: frame.id })
    } catch (error) {
      // A partial subscription would look like a quiet fleet, so the client has to subscribe again.
      this.#drop(subscription)
      throw error
    }
  }

  async #addFleet(frame: Subscribe, user: Caller): Promise<void> {
    const { fleetHub, limits } = this.#ports
    const open = [...this.#open.values()].filter(({ channel }) => channel === 'fleet').length
    const subscription = new FleetSubscription(frame, this.#owner, user.id)
    const refused = refuseTooManyFleet(subscription, { open, fleetHub, limits })
    if (refused !== undefined) return this.#ports.refuse(refused)
    this.#open.set(frame.id, subscription)
    try {
      await fleetHub.add(subscription)
    } catch (error) {
      this.#drop(subscription)
      throw error
    }
    this.#owner.outbox.answer(frameText({ type: 'subscribed', id: frame.id }))
  }

  async #begin(subscription: Subscription, { id, snapshot }: Subscribe): Promise<Refusal | undefined> {
    const { hub, work, limits } = this.#ports
    await hub.add(subscription)
    const [scope, userId] = [this.#owner.scopeNow(), this.#ports.user()?.id]
    const answerSubscribed = () => this.#owner.outbox.answer(frameText({ type: 'subscribed', id }))
    if (snapshot !== true || scope === undefined || userId === undefined) {
      answerSubscribed()
      subscription.release()
      return undefined
    }
    const devicesMost = subscription.deviceId === undefined ? limits.snapshotDevicesMax : 1
    return await work.spend<Refusal | undefined>(
      userId,
      1 + devicesMost / limits.devicesPerWork,
      async () => {
        answerSubscribed()
        const { frame, isShown, devices } = await openSnapshot(subscription, scope, this.#ports)
        if (!this.#ports.isClosed()) {
          this.#owner.outbox.answer(frame)
          subscription.release(isShown)
        }
        return { result: undefined, price: 1 + devices / limits.devicesPerWork }
      },
    )
  }

  #refusalOf(frame: Subscribe, user: Caller): SocketRefusal | undefined {
    const { id, channel, filter } = frame
    if (this.#open.has(id))
      return refusal('ALREADY_EXISTS', 'a subscription of this socket has this id already', id)
    const roles = CHANNEL_ROLES[channel]
    if (!roles.includes(user.role)) return refusal('FORBIDDEN', roleNeeded(roles, user.role), id)
    const misplaced = refuseMisplaced(frame)
    if (misplaced !== undefined) return misplaced
    const deviceId = parseDeviceId(filter?.device_id)
    if (deviceId === undefined) return undefined
    // The audit also contains refusals about ids that do not exist.
    if (channel === 'audit') return undefined
    const device = this.#ports.engine.devices.summary(deviceId)
    const isSeen = device !== undefined && isInScope(device.group, scopeOf(user))
    return isSeen ? undefined : refusal('NOT_FOUND', undefined, id)
  }

  remove(id: string): void {
    const subscription = this.#open.get(id)
    if (subscription === undefined) {
      this.#ports.refuse(refusal('NOT_FOUND', 'this socket has no subscription with this id', id))
      return
    }
    this.#drop(subscription)
    this.#owner.outbox.answer(frameText({ type: 'unsubscribed', id }))
  }

  #drop(subscription: Subscription | FleetSubscription): void {
    // Only once, because the metrics it selected are counted.
    if (!this.#open.delete(subscription.id)) return
    subscription.close()
    if (subscription instanceof FleetSubscription) {
      this.#ports.fleetHub.remove(subscription)
      return
    }
    this.#ports.hub.remove(subscription)
    const { selection, userId } = subscription
    if (selection !== undefined) this.#ports.selections.close(selection, userId)
  }
}
