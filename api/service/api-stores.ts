// What all API nodes of a service share beside the users: a request may come to any of them.
import type { KeptAnswers } from '../../engine/ports/answers.ts'
import type { SharedRates } from '../../engine/ports/rates.ts'
import type { OpenTickets } from '../../engine/ports/tickets.ts'

export interface ApiStores {
  readonly answers: KeptAnswers
  readonly tickets: OpenTickets
  /** Undefined: there is only this node. */
  readonly rates: SharedRates | undefined
}
