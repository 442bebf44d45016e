// Stores that all API nodes of a service share, because a client's requests may reach any of them.

import type { DownloadLeases } from '../../engine/ports/download-leases.ts'
import type { IdempotencyStore } from '../../engine/ports/idempotency.ts'
import type { SharedRates } from '../../engine/ports/rates.ts'
import type { OpenTickets } from '../../engine/ports/tickets.ts'

export interface ApiStores {
  readonly answers: IdempotencyStore
  /** Tickets for `/ws`. */
  readonly tickets: OpenTickets
  /** Tickets for logins by address, which are good for longer. */
  readonly loginTickets: OpenTickets
  /** Undefined if this is the only node. */
  readonly rates: SharedRates | undefined
  /** Undefined if this is the only node. */
  readonly downloadPlaces: DownloadLeases | undefined
}
