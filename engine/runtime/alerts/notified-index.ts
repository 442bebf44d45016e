// Who was told of which alert: an index of deliveries by alert, in memory.
import type { AlertId, ChannelId } from '../../../schemas/ids.ts'
import type { Delivery } from '../../domain/alert/delivery.ts'
import { LIMITS } from '../../limits.ts'
import type { ChannelNotice } from '../../ports/alert-channels.ts'
import type { DeliveryGroup } from './delivery-group.ts'

interface OfAlert {
  readonly notices: Map<string, ChannelNotice>
  /** The channels that took a message that the alert fires. */
  readonly arrivedAt: Set<ChannelId>
}

export class NotifiedIndex {
  /** The alerts that were told most recently are at the end. */
  readonly #byAlert = new Map<AlertId, OfAlert>()
  /** Open deliveries that changed. One that collects thousands of alerts changes often, so it is read only when needed. */
  readonly #open = new Map<string, DeliveryGroup>()

  noteOpen(group: DeliveryGroup): void {
    this.#open.set(group.head.id, group)
  }

  /** Notes the value of a delivery. Undefined if another delivery has replaced it. */
  note(id: string, delivery: Delivery | undefined): void {
    this.#open.delete(id)
    if (delivery !== undefined) this.#read(delivery)
  }

  /** Sorted by the time of the notification. */
  of(alertId: AlertId): readonly ChannelNotice[] {
    for (const group of this.#open.values()) this.#read(group.delivery())
    this.#open.clear()
    return [...(this.#byAlert.get(alertId)?.notices.values() ?? [])].sort((a, b) => a.at - b.at)
  }

  /** Whether the channel took a message that the alert fires, whatever became of later ones. */
  hasArrived(alertId: AlertId, channelId: ChannelId): boolean {
    return this.#byAlert.get(alertId)?.arrivedAt.has(channelId) ?? false
  }

  #read({ channelId, members, state, createdAt, attempts, finishedAt }: Delivery): void {
    const at = finishedAt ?? attempts.at(-1)?.at ?? createdAt
    for (const { alertId, event } of members) {
      const known: OfAlert = this.#byAlert.get(alertId) ?? { notices: new Map(), arrivedAt: new Set() }
      this.#byAlert.delete(alertId)
      this.#byAlert.set(alertId, known)
      if (state === 'delivered' && event !== 'resolved') known.arrivedAt.add(channelId)
      const { notices } = known
      const key = `${channelId} ${event}`
      notices.delete(key)
      notices.set(key, { channelId, event, at, state })
      if (notices.size > LIMITS.notifiedPerAlertMax) dropFirst(notices)
    }
    while (this.#byAlert.size > LIMITS.notifiedAlertsMax) dropFirst(this.#byAlert)
  }
}

function dropFirst(map: Map<unknown, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key)
    return
  }
}
