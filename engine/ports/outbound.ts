// The ways out to people: what channels of alerts need.
import type { HttpOut } from './http-out.ts'
import type { Mail } from './mail.ts'

/** Addresses of pages, for whoever reads a message. */
export interface Links {
  readonly device: (id: string) => string
  readonly alert: (id: string) => string
}

export interface Outbound {
  readonly http: HttpOut
  /** Undefined where no mail server is set. */
  readonly mail: Mail | undefined
  readonly links: Links
  readonly userAgent: string
}
