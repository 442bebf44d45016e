// One WebSocket as the protocol sees it. Calls after it has closed have no effect.
import type { CloseReason } from '../../schemas/ws.ts'

export interface Wire {
  send(frame: string): void
  /** Sends the frames of `run` in one write where possible. */
  cork(run: () => void): void
  /** Bytes not yet taken by the client's kernel, as a fraction of the limit. Above 1 the wire is full. */
  pressure(): number
  /** Increases while the client takes bytes. */
  deliveredBytes(): number
  end(why: CloseReason, text: string): void
}

/** How a client introduced itself in its upgrade request. */
export interface Handshake {
  readonly ip: string
  readonly token: string | undefined
  readonly ticket: string | undefined
}

export interface WireEvents {
  /** Undefined for a binary frame. */
  received(text: string | undefined): void
  tooLarge(bytes: number): void
  /** Called when there may be room again. */
  drained(): void
  closed(): void
}
