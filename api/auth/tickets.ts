// Tickets: secrets that can be used once, within a short time, at any node. A browser uses one where it cannot send a
// header and an address might end up in histories and logs: to open /ws, to log in by address, or to download a file to
// disk.
//
// A ticket stands for a bearer token, which is checked again when the ticket is used. Until then the token is stored
// encrypted with the ticket, and the ticket only as a hash. A ticket for one use cannot be used for another.
import { createHash, randomBytes } from 'node:crypto'
import { LIMITS } from '../../engine/limits.ts'
import type { OpenTickets } from '../../engine/ports/tickets.ts'
import { refused } from '../refusal.ts'
import { sealed, sealingKey, unsealed } from '../sealing.ts'
import type { Authenticate, Authentication } from './authenticate.ts'

const SECRET_BYTES = 32
const USES = {
  socket: { prefix: 'tkt_', use: 'fleet ticket', lifeMs: LIMITS.ticketMs },
  download: { prefix: 'dl_', use: 'fleet download', lifeMs: LIMITS.ticketMs },
  login: { prefix: 'lgn_', use: 'fleet login', lifeMs: LIMITS.loginTicketMs },
} as const

export class Tickets {
  readonly #authenticate: Authenticate
  readonly #store: OpenTickets
  readonly #use: (typeof USES)[keyof typeof USES]

  constructor(authenticate: Authenticate, open: OpenTickets, use: keyof typeof USES = 'socket') {
    this.#authenticate = authenticate
    this.#store = open
    this.#use = USES[use]
  }

  /** Keeps the newest tickets of an owner. Resolves with undefined if there are too many tickets in total. */
  async issue(owner: string, token: string, purpose = ''): Promise<string | undefined> {
    const ticket = `${this.#use.prefix}${randomBytes(SECRET_BYTES).toString('base64url')}`
    const { id, key } = keyOf({ ticket, purpose, ...this.#use })
    return (await this.#store.put({ id, owner, sealed: sealed(token, key) })) ? ticket : undefined
  }

  /** Consumes a ticket, even if its token turns out to be revoked. */
  async redeem(ticket: string, purpose = ''): Promise<Authentication> {
    const { id, key } = keyOf({ ticket, purpose, ...this.#use })
    const stored = await this.#store.take(id)
    if (stored === undefined) {
      const message = `a ticket is good once and for ${this.#use.lifeMs / 1000} seconds; ask for another`
      return refused('UNAUTHENTICATED', { message })
    }
    return await this.#authenticate(unsealed(stored, key))
  }
}

interface TicketUse {
  readonly ticket: string
  readonly purpose: string
  readonly prefix: string
  readonly use: string
}

function keyOf({ ticket, purpose, prefix, use }: TicketUse) {
  // The hash includes the use. Otherwise presenting a ticket for the wrong use would consume it in a shared store.
  const id = createHash('sha256').update(`${prefix} ${ticket} ${purpose}`).digest('base64url')
  return { id, key: sealingKey({ secret: ticket, id, use }) }
}
