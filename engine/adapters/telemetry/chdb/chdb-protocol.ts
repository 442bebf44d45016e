// Messages between the supervisor and the chdb process. The password is sent here because other users can read a
// process's arguments and environment.
export interface OpenMessage {
  readonly kind: 'open'
  readonly dataDir: string
  readonly username: string
  readonly password: string
  /** 0 stands for any free port. */
  readonly port: number
  readonly lockWaitMs: number
}

export type ChildMessage =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'failed'; readonly reason: 'locked' | 'port' | 'other'; readonly message: string }

export class StartFailure extends Error {
  readonly reason: 'locked' | 'port' | 'other'

  constructor(reason: 'locked' | 'port' | 'other', message: string) {
    super(message)
    this.reason = reason
  }
}
