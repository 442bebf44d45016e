// Tickets for /ws that were issued and not yet shown, at whatever node. They stand for a token, so they come sealed:
// whoever keeps them cannot read them. Both methods may reject with a `STORE_UNAVAILABLE` fault.

export interface OpenTicket {
  /** The ticket cannot be told from it. */
  readonly id: string
  readonly owner: string
  readonly sealed: Uint8Array
}

export interface OpenTickets {
  /** Keeps it for a while. An owner has a number of tickets, and the oldest gives way; false if all owners have too many. */
  put(ticket: OpenTicket): Promise<boolean>
  /** Once: undefined for one that was taken before, is too old, or is not known. */
  take(id: string): Promise<Uint8Array | undefined>
}
