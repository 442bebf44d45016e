// Passes events of the feed to the matching subscriptions, and tells the engine which events are wanted.
// - Role and group scope are evaluated per event, at the time of the event.
// - An event is encoded at most once per choice of metrics, however many sockets take it.
// - After a batch of the feed, each socket that got something is flushed once. Nothing waits for a timer.
import type { Feed, FeedEvent } from '../../engine/index.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { DeploymentEvent, Deployments } from '../../engine/ports/deployments.ts'
import type { Want, WantedKind } from '../../engine/ports/feed.ts'
import type { Schedule } from '../../engine/ports/schedule.ts'
import type { DeviceId } from '../../schemas/ids.ts'
import { isInScope } from '../auth/scope.ts'
import { CHANNEL_ROLES, mayReceive } from './channels.ts'
import { CHANNEL_OF, deploymentNotice, type Notice, type NoticeSettings, SharedEvent } from './notice.ts'
import type { Subscriber, Subscription } from './subscription.ts'

/** States of alert channels are sent with the alerts, and dead letters with the audit. */
type Kind = Exclude<FeedEvent['kind'], 'alert_channel' | 'dead_letter'>

const KINDS = [
  'device',
  'telemetry',
  'shadow',
  'command',
  'job',
  'timeline',
  'log',
  'alert',
  'audit',
] as const satisfies readonly Kind[]
const WANTED: ReadonlySet<Kind> = new Set<WantedKind>(['telemetry', 'timeline', 'log'])

interface Audience {
  readonly byDevice: Map<DeviceId, Set<Subscription>>
  /** Subscriptions that do not name a device. */
  readonly broad: Set<Subscription>
}

const newAudience = (): Audience => ({ byDevice: new Map(), broad: new Set() })

export interface HubPorts {
  readonly feed: Feed
  readonly deployments: Pick<Deployments, 'listen'>
  readonly notices: NoticeSettings
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'after'>
  readonly limits: { readonly broadSubscriptionsPerUserMax: number }
}

/** The feed is told what is wanted at most for this part of the time: of thousands of devices that takes long. */
const WANTED_SHARE = 1 / 5

export class Hub {
  readonly #ports: HubPorts
  readonly #audiences: Readonly<Record<Kind, Audience>> = {
    device: newAudience(),
    telemetry: newAudience(),
    shadow: newAudience(),
    command: newAudience(),
    job: newAudience(),
    timeline: newAudience(),
    log: newAudience(),
    alert: newAudience(),
    audit: newAudience(),
  }
  readonly #stopListening: () => void
  #round = 0
  #wantedUpdate: Promise<void> | undefined
  /** The next update is not before this time. */
  #wantedAgainAt = 0
  /** How many subscriptions without a device each user has. */
  readonly #broadByUser = new Map<string, number>()

  constructor(ports: HubPorts) {
    this.#ports = ports
    const { feed, deployments } = ports
    const stops = [
      feed.listen(
        (events) => this.#publish(events),
        () => this.#countMissed(),
      ),
      deployments.listen((event) => this.#publishDeployment(event)),
    ]
    this.#stopListening = () => {
      for (const stop of stops) stop()
    }
  }

  /** Each event is compared with all subscriptions that name no device, so their number is bounded. */
  hasRoomFor({ deviceId, userId }: Pick<Subscription, 'deviceId' | 'userId'>): boolean {
    const { broadSubscriptionsPerUserMax: most } = this.#ports.limits
    return deviceId !== undefined || (this.#broadByUser.get(userId) ?? 0) < most
  }

  /** Resolves once the feed knows what is wanted. From then on no event is missed. */
  async add(subscription: Subscription): Promise<void> {
    const kind = kindOf(subscription)
    if (kind === undefined) return
    const audience = this.#audiences[kind]
    if (subscription.deviceId === undefined) {
      audience.broad.add(subscription)
      this.#countBroad(subscription.userId, 1)
    } else {
      const same = audience.byDevice.get(subscription.deviceId) ?? new Set()
      audience.byDevice.set(subscription.deviceId, same.add(subscription))
    }
    if (WANTED.has(kind)) await this.#updateWantedSoon()
  }

  remove(subscription: Subscription): void {
    const kind = kindOf(subscription)
    if (kind === undefined) return
    const audience = this.#audiences[kind]
    const { deviceId, userId } = subscription
    if (audience.broad.delete(subscription)) this.#countBroad(userId, -1)
    const same = deviceId === undefined ? undefined : audience.byDevice.get(deviceId)
    same?.delete(subscription)
    if (deviceId !== undefined && same?.size === 0) audience.byDevice.delete(deviceId)
    // Asking for too much for a moment costs little and loses nothing.
    if (WANTED.has(kind)) void this.#updateWantedSoon()
  }

  close(): void {
    this.#stopListening()
    const nothing = { all: false, devices: new Set<never>() }
    this.#ports.feed.want({ telemetry: nothing, timeline: nothing, log: nothing })
  }

  #countBroad(userId: string, change: number): void {
    const count = (this.#broadByUser.get(userId) ?? 0) + change
    if (count > 0) this.#broadByUser.set(userId, count)
    else this.#broadByUser.delete(userId)
  }

  #publish(events: readonly FeedEvent[]): void {
    this.#round += 1
    const receivers = new Set<Subscriber>()
    for (const event of events) {
      const shared = new SharedEvent(event, this.#ports.notices)
      const { byDevice, broad } = this.#audiences[audienceOf(event.kind)]
      const own = byDevice.get(shared.deviceId)
      if (own !== undefined) this.#offer(shared, own, receivers)
      if (broad.size > 0) this.#offer(shared, broad, receivers)
    }
    for (const subscriber of receivers) subscriber.outbox.flush()
  }

  /** Events were lost between nodes, nobody knows whose. So each subscription is told of one. */
  #countMissed(): void {
    const receivers = new Set<Subscriber>()
    for (const { byDevice, broad } of Object.values(this.#audiences))
      for (const subscription of [...broad, ...[...byDevice.values()].flatMap((same) => [...same])]) {
        subscription.owner.outbox.countMissed(subscription)
        receivers.add(subscription.owner)
      }
    for (const subscriber of receivers) subscriber.outbox.flush()
  }

  /** Sends the event to users who may see the whole deployment and have not subscribed to a single device. */
  #publishDeployment(event: DeploymentEvent): void {
    this.#round += 1
    const receivers = new Set<Subscriber>()
    let notice: Notice | undefined
    for (const subscription of this.#audiences.job.broad) {
      if (!subscription.fitsDeployment(event.deployment)) continue
      if (!subscription.owner.maySeeAll(event.deployment.groups, 'ota')) continue
      notice ??= deploymentNotice(event)
      subscription.deliver(notice)
      receivers.add(subscription.owner)
    }
    for (const subscriber of receivers) subscriber.outbox.flush()
  }

  #offer(shared: SharedEvent, subscriptions: ReadonlySet<Subscription>, receivers: Set<Subscriber>): void {
    for (const subscription of subscriptions) {
      const scope = subscription.owner.scopeAt(this.#round)
      if (scope === undefined || !isInScope(shared.facts?.group, scope.groups)) continue
      if (!CHANNEL_ROLES[subscription.channel].includes(scope.role)) continue
      if (!mayReceive(shared.event, scope.role)) continue
      if (!subscription.fits(shared.facts) || !subscription.fitsEvent(shared.event)) continue
      const notice = shared.notice(subscription.selection)
      if (notice === undefined) continue
      subscription.deliver(notice)
      receivers.add(subscription.owner)
    }
  }

  /** Thousands of subscriptions may come and go at once. The feed is updated once per turn of the event loop, or more rarely
   *  if that takes long. */
  #updateWantedSoon(): Promise<void> {
    const { clock, schedule } = this.#ports
    this.#wantedUpdate ??= new Promise((resolve) => {
      const update = () => {
        this.#wantedUpdate = undefined
        this.#updateWanted()
        resolve()
      }
      const waitMs = this.#wantedAgainAt - clock.ticks()
      if (waitMs < 1) setImmediate(update)
      else schedule.after(waitMs, update)
    })
    return this.#wantedUpdate
  }

  #updateWanted(): void {
    const { feed, clock } = this.#ports
    const { telemetry, timeline, log } = this.#audiences
    const beganAt = clock.ticks()
    feed.want({ telemetry: toWant(telemetry), timeline: toWant(timeline), log: toWant(log) })
    this.#wantedAgainAt = beganAt + (clock.ticks() - beganAt) / WANTED_SHARE
  }
}

function kindOf({ channel }: Subscription): Kind | undefined {
  return KINDS.find((known) => CHANNEL_OF[known] === channel)
}

function audienceOf(kind: FeedEvent['kind']): Kind {
  if (kind === 'alert_channel') return 'alert'
  return kind === 'dead_letter' ? 'audit' : kind
}

function toWant({ broad, byDevice }: Audience): Want {
  return { all: broad.size > 0, devices: new Set(byDevice.keys()) }
}
