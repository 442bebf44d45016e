// Tickets for /ws. A browser cannot send a header there, and addresses end up in histories and logs. So it shows a ticket,
// which opens one socket at any node within half a minute. The ticket stands for a bearer token, which is checked again
// when the ticket is used. Until then the token is stored encrypted with the ticket, of which only a hash is stored.
import { createHash, randomBytes } from 'node:crypto'
import { LIMITS } from '../../engine/limits.ts'
import type { OpenTickets } from '../../engine/ports/tickets.ts'
import { refused } from '../refusal.ts'
import { sealed, sealingKey, unsealed } from '../sealing.ts'
import type { Authenticate, Authenticated } from './authenticate.ts'

const SECRET_BYTES = 32

export class Tickets {
  readonly #authenticate: Authenticate
  readonly #open: OpenTickets

  constructor(authenticate: Authenticate, open: OpenTickets) {
    this.#authenticate = authenticate
    this.#open = open
  }

  /** Keeps the newest tickets of an owner. Resolves with undefined if all owners together have too many. */
  async issue(owner: string, token: string): Promise<string | undefined> {
    const ticket = `tkt_${randomBytes(SECRET_BYTES).toString('base64url')}`
    const { id, key } = keyOf(ticket)
    return (await this.#open.put({ id, owner, sealed: sealed(token, key) })) ? ticket : undefined
  }

  /** Uses a ticket up, even if its token turns out to be void. */
  async redeem(ticket: string): Promise<Authenticated> {
    const { id, key } = keyOf(ticket)
    const kept = await this.#open.take(id)
    if (kept === undefined) {
      const message = `a ticket is good once and for ${LIMITS.ticketMs / 1000} seconds; ask for another`
      return refused('UNAUTHENTICATED', { message })
    }
    return await this.#authenticate(unsealed(kept, key))
  }
}

function keyOf(ticket: string): { readonly id: string; readonly key: Uint8Array } {
  const id = createHash('sha256').update(ticket).digest('base64url')
  return { id, key: sealingKey({ secret: ticket, id, use: 'fleet ticket' }) }
}
