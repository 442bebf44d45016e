// A delivery of a queue. One that collects thousands of alerts changes with each of them, so that what it is about is
// found by alert, and the delivery as a value is made when somebody asks for it.
import type { AlertId } from '../../../schemas/ids.ts'
import {
  type Delivery,
  type DeliveryMember,
  type Item,
  memberOf,
  toldWith,
  toldWithout,
} from '../../domain/alert/delivery.ts'

export class DeliveryGroup {
  #delivery: Delivery
  /** Made with the first change. Folded and redelivered ones may say two things of one alert. */
  #byAlert: Map<AlertId, readonly DeliveryMember[]> | undefined
  #told: Delivery['told']
  #size: number
  /** Whether there are changes that the delivery does not have yet. */
  #isChanged = false

  constructor(delivery: Delivery) {
    this.#delivery = delivery
    this.#told = delivery.told
    this.#size = delivery.members.length
  }

  /** Everything but what it is about. */
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

  join(item: Item): void {
    const member = memberOf(item)
    const members = this.#members()
    members.set(member.alertId, [...(members.get(member.alertId) ?? []), member])
    this.#told = toldWith(this.#told, item)
    this.#size++
    this.#isChanged = true
  }

  /** Takes an alert out of which something newer is said. At least one other has to be left. */
  leave(alertId: AlertId): void {
    const members = this.#members()
    this.#size -= members.get(alertId)?.length ?? 0
    members.delete(alertId)
    this.#told = toldWithout(this.#told, new Set([alertId]))
    this.#isChanged = true
  }

  /** Whether it is about this alert and no other. */
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
