// One WebSocket as the protocol sees it. Calls after it has closed do nothing.
import type { CloseReason } from '../../schemas/ws.ts'

export interface Wire {
  send(frame: string): void
  /** Sends the frames of `run` in one write where possible. */
  cork(run: () => void): void
  /** Bytes that the client's kernel has not taken yet, as a share of the bound: above 1 the wire is full. */
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
