// One WebSocket as the protocol sees it. Safe to use after it has closed: then nothing happens.
import type { CloseReason } from '../../schemas/ws.ts'

export interface Wire {
  send(frame: string): void
  /** What `run` sends leaves in one write where possible. */
  cork(run: () => void): void
  /** Bytes sent and not yet taken by the client's kernel, as a share of what may be: above 1 it is full. */
  pressure(): number
  /** Grows while the client takes bytes. */
  deliveredBytes(): number
  end(why: CloseReason, text: string): void
}

/** How a client introduced itself in its upgrade request. */
export interface Hello {
  readonly ip: string
  readonly token: string | undefined
  readonly ticket: string | undefined
}

export interface WireEvents {
  /** Undefined is a binary frame. */
  received(text: string | undefined): void
  tooLarge(): void
  /** There may be room again. */
  drained(): void
  closed(): void
}
