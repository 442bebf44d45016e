// Tickets: secrets that are good once and for a short time, at any node. With one for /ws a browser opens a socket, because
// it cannot send a header there, and addresses end up in histories and logs. With one of a login address it logs in, and with
// one for a download it gets one file, which then streams to the disk. A
// ticket stands for a bearer token, which is checked again when the ticket is used. Until then the token is stored
// encrypted with the ticket, of which only a hash is stored. A ticket of one use is nothing to the other.
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
  readonly #open: OpenTickets
  readonly #use: (typeof USES)[keyof typeof USES]

  constructor(authenticate: Authenticate, open: OpenTickets, use: keyof typeof USES = 'socket') {
    this.#authenticate = authenticate
    this.#open = open
    this.#use = USES[use]
  }

  /** Keeps the newest tickets of an owner. A ticket is good for its purpose alone. Resolves with undefined if all owners together have too many. */
  async issue(owner: string, token: string, purpose = ''): Promise<string | undefined> {
    const ticket = `${this.#use.prefix}${randomBytes(SECRET_BYTES).toString('base64url')}`
    const { id, key } = keyOf({ ticket, purpose, ...this.#use })
    return (await this.#open.put({ id, owner, sealed: sealed(token, key) })) ? ticket : undefined
  }

  /** Uses a ticket up, even if its token turns out to be void. */
  async redeem(ticket: string, purpose = ''): Promise<Authentication> {
    const { id, key } = keyOf({ ticket, purpose, ...this.#use })
    const kept = await this.#open.take(id)
    if (kept === undefined) {
      const message = `a ticket is good once and for ${this.#use.lifeMs / 1000} seconds; ask for another`
      return refused('UNAUTHENTICATED', { message })
    }
    return await this.#authenticate(unsealed(kept, key))
  }
}

interface TicketUse {
  readonly ticket: string
  readonly purpose: string
  readonly prefix: string
  readonly use: string
}

function keyOf({ ticket, purpose, prefix, use }: TicketUse) {
  // Found by its use as well: in a shared store a ticket for the one must not be used up by showing it to the other.
  const id = createHash('sha256').update(`${prefix} ${ticket} ${purpose}`).digest('base64url')
  return { id, key: sealingKey({ secret: ticket, id, use }) }
}
