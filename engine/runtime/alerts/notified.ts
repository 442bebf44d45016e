// Who was told of which alert, in memory: what deliveries say, found by alert.
import type { AlertId } from '../../../schemas/ids.ts'
import type { Delivery } from '../../domain/alert/delivery.ts'
import { LIMITS } from '../../limits.ts'
import type { Notified } from '../../ports/alert-channels.ts'

type OfAlert = Map<string, Notified>

export class NotifiedIndex {
  /** The alerts that were told of last are at the end. */
  readonly #byAlert = new Map<AlertId, OfAlert>()
  /** A delivery that collects thousands of alerts changes with each of them, so it is read once for many changes. */
  readonly #changed = new Map<string, Delivery>()

  note(delivery: Delivery): void {
    this.#changed.set(delivery.id, delivery)
  }

  /** Sorted by the time of their notification. */
  of(alertId: AlertId): readonly Notified[] {
    this.readChanged()
    return [...(this.#byAlert.get(alertId)?.values() ?? [])].sort((a, b) => a.at - b.at)
  }

  readChanged(): void {
    for (const delivery of this.#changed.values()) this.#read(delivery)
    this.#changed.clear()
  }

  #read({ channelId, members, state, createdAt, attempts, finishedAt }: Delivery): void {
    const at = finishedAt ?? attempts.at(-1)?.at ?? createdAt
    for (const { alertId, event } of members) {
      const known: OfAlert = this.#byAlert.get(alertId) ?? new Map()
      this.#byAlert.delete(alertId)
      this.#byAlert.set(alertId, known)
      const key = `${channelId} ${event}`
      known.delete(key)
      known.set(key, { channelId, event, at, state })
      if (known.size > LIMITS.notifiedPerAlertMax) dropFirst(known)
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
