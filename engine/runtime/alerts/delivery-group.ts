// A delivery while it is in a queue. A delivery that collects thousands of alerts changes with each of them, so its members
// are found by alert, and the delivery is made as a value only when it is asked for.
import type { AlertId } from '../../../schemas/ids.ts'
import {
  type Delivery,
  type DeliveryMember,
  memberOf,
  type NotificationItem,
  withNamedAlert,
  withoutNamedAlerts,
} from '../../domain/alert/delivery.ts'

export class DeliveryGroup {
  #delivery: Delivery
  /** Built at the first change. A folded or redelivered delivery may have two members for one alert. */
  #byAlert: Map<AlertId, readonly DeliveryMember[]> | undefined
  #told: Delivery['told']
  #size: number
  /** Whether `#delivery` lacks some changes. */
  #isChanged = false

  constructor(delivery: Delivery) {
    this.#delivery = delivery
    this.#told = delivery.told
    this.#size = delivery.members.length
  }

  /** The delivery without its members and their texts. */
  get head(): Omit<Delivery, 'members' | 'told'> {
    return this.#delivery
  }

  /** The number of its members. */
  get size(): number {
    return this.#size
  }

  delivery(): Delivery {
    if (this.#isChanged) {
      const members = [...this.#members().values()].flat()
      this.#delivery = { ...this.#delivery, members, told: this.#told }
      this.#isChanged = false
    }
    return this.#delivery
  }

  join(item: NotificationItem): void {
    const member = memberOf(item)
    const members = this.#members()
    members.set(member.alertId, [...(members.get(member.alertId) ?? []), member])
    this.#told = withNamedAlert(this.#told, item)
    this.#size++
    this.#isChanged = true
  }

  /** Removes an alert because there is newer news of it. At least one other alert must remain. */
  leave(alertId: AlertId): void {
    const members = this.#members()
    this.#size -= members.get(alertId)?.length ?? 0
    members.delete(alertId)
    this.#told = withoutNamedAlerts(this.#told, new Set([alertId]))
    this.#isChanged = true
  }

  /** Whether all members are about this alert. */
  isOnlyOf(alertId: AlertId): boolean {
    return (this.#members().get(alertId)?.length ?? 0) === this.#size
  }

  #members(): Map<AlertId, readonly DeliveryMember[]> {
    if (this.#byAlert === undefined) {
      this.#byAlert = new Map()
      for (const member of this.#delivery.members)
        this.#byAlert.set(member.alertId, [...(this.#byAlert.get(member.alertId) ?? []), member])
    }
    return this.#byAlert
  }
}
