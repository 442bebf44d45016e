// Tickets for /ws. A browser can send no header there, and what stands in an address ends up in histories and logs:
// so it shows a ticket, which lets in one socket within half a minute and is worthless afterwards. It stands for the
// bearer token that it was issued for, which is judged again when the ticket is shown. They live in memory alone.
import { randomBytes } from 'node:crypto'
import { LIMITS } from '../../engine/limits.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import { refused } from '../http/answer.ts'
import type { Authenticate, Authenticated } from './authenticate.ts'

interface Open {
  readonly owner: string
  readonly token: string
  /** In ticks. */
  readonly endsAt: number
}

export class Tickets {
  readonly #authenticate: Authenticate
  readonly #clock: Pick<Clock, 'ticks'>
  /** They all live for the same time: the oldest ends first. */
  readonly #open = new Map<string, Open>()

  constructor(authenticate: Authenticate, clock: Pick<Clock, 'ticks'>) {
    this.#authenticate = authenticate
    this.#clock = clock
  }

  /** Of one owner the newest count. Undefined: all owners together have too many. */
  issue(owner: string, token: string): string | undefined {
    this.#forget()
    const own = [...this.#open].filter(([, open]) => open.owner === owner)
    const [oldest] = own
    if (oldest !== undefined && own.length >= LIMITS.ticketsPerUserMax) this.#open.delete(oldest[0])
    if (this.#open.size >= LIMITS.ticketsMax) return undefined
    const ticket = `tkt_${randomBytes(32).toString('base64url')}`
    this.#open.set(ticket, { owner, token, endsAt: this.#clock.ticks() + LIMITS.ticketMs })
    return ticket
  }

  /** One use each, whatever comes of it. */
  async redeem(ticket: string): Promise<Authenticated> {
    this.#forget()
    const open = this.#open.get(ticket)
    if (open === undefined) {
      const message = `a ticket is good once and for ${LIMITS.ticketMs / 1000} seconds; ask for another`
      return refused('UNAUTHENTICATED', { message })
    }
    this.#open.delete(ticket)
    return await this.#authenticate(open.token)
  }

  #forget(): void {
    const now = this.#clock.ticks()
    for (const [ticket, { endsAt }] of this.#open) {
      if (endsAt > now) return
      this.#open.delete(ticket)
    }
  }
}
