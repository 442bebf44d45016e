// What a silent socket means. The service tells something of the fleet each second, so that silence is news, too: first the page
// says since when it has heard nothing, then the connection is given up. A line can be dead without either end knowing.

/** Three times what the service takes between two words. */
const SILENT_MS = 3000
const DEAD_MS = 30_000
/** How long a connection may take until it is open and its token accepted. */
const OPENING_MS = 15_000

export interface SocketSilence {
  /** Whether the token was accepted on this connection. */
  readonly isOpen: boolean
  /** Since the last frame, or since the connection was begun. */
  readonly silentMs: number
}

export function judgeSilence({ isOpen, silentMs }: SocketSilence): 'well' | 'silent' | 'dead' {
  if (silentMs > (isOpen ? DEAD_MS : OPENING_MS)) return 'dead'
  return isOpen && silentMs > SILENT_MS ? 'silent' : 'well'
}
