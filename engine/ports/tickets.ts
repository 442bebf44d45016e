// Tickets for /ws that any node issued and nobody has used yet. A ticket stands for a token, so it arrives sealed and the
// keeper cannot read it. Both methods may reject with a `STORE_UNAVAILABLE` fault.

export interface OpenTicket {
  /** Derived from the ticket, which cannot be recovered from it. */
  readonly id: string
  readonly owner: string
  readonly sealed: Uint8Array
}

export interface OpenTickets {
  /** Keeps the ticket for a while. Beyond an owner's limit, the owner's oldest ticket is dropped; false if the limit for
   *  all owners is reached. */
  put(ticket: OpenTicket): Promise<boolean>
  /** Returns a ticket once: undefined if it was taken before, has expired or is unknown. */
  take(id: string): Promise<Uint8Array | undefined>
}
