// What the supervisor and the chdb process tell each other. The password travels here: arguments and environment
// can be read by others.
export interface OpenMessage {
  readonly kind: 'open'
  readonly dataDir: string
  readonly username: string
  readonly password: string
  /** 0 is any free one. */
  readonly port: number
  readonly lockWaitMs: number
}

export type ChildMessage =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'failed'; readonly reason: 'locked' | 'port' | 'other'; readonly message: string }
