// Open tickets in memory, for a service of one process. They end with the process, and clients then ask for new ones.
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { OpenTicket, OpenTickets } from '../../ports/tickets.ts'

interface ExpiringTicket extends OpenTicket {
  /** Monotonic milliseconds (`Clock.ticks`). */
  readonly expiresAt: number
}

export class MemoryTickets implements OpenTickets {
  readonly #clock: Pick<Clock, 'ticks'>
  readonly #lifeMs: number
  /** All tickets have the same lifetime, so the oldest expires first. */
  readonly #open = new Map<string, ExpiringTicket>()

  constructor(clock: Pick<Clock, 'ticks'>, lifeMs: number = LIMITS.ticketMs) {
    this.#clock = clock
    this.#lifeMs = lifeMs
  }

  async put(ticket: OpenTicket): Promise<boolean> {
    this.#removeExpired()
    const own = [...this.#open.values()].filter(({ owner }) => owner === ticket.owner)
    const [oldest] = own
    if (oldest !== undefined && own.length >= LIMITS.ticketsPerUserMax) this.#open.delete(oldest.id)
    if (this.#open.size >= LIMITS.ticketsMax) return false
    this.#open.set(ticket.id, { ...ticket, expiresAt: this.#clock.ticks() + this.#lifeMs })
    return true
  }

  async take(id: string): Promise<Uint8Array | undefined> {
    this.#removeExpired()
    const open = this.#open.get(id)
    this.#open.delete(id)
    return open?.sealed
  }

  #removeExpired(): void {
    const now = this.#clock.ticks()
    for (const [id, { expiresAt }] of this.#open) {
      if (expiresAt > now) return
      this.#open.delete(id)
    }
  }
}
