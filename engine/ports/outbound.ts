// How alert channels reach people: over HTTP and by mail.
import type { HttpOut } from './http-out.ts'
import type { Mail } from './mail.ts'

/** Links to pages of the dashboard, for readers of a message. */
export interface Links {
  readonly device: (id: string) => string
  readonly alert: (id: string) => string
}

export interface Outbound {
  readonly http: HttpOut
  /** Undefined if no mail server is configured. */
  readonly mail: Mail | undefined
  readonly links: Links
  readonly userAgent: string
}
