// Who is behind a socket, and for how long: from the wait for a token to its expiry.
// L1. The user is looked up anew each time: a demotion, a new password or a lock counts at once.
// L2. A socket stays with its first user; a new token of the same one prolongs it.

import type { Clock } from '../../engine/ports/clock.ts'
import type { Schedule } from '../../engine/ports/schedule.ts'
import { type Millis, toIso } from '../../schemas/ids.ts'
import { type CloseReason, frameText } from '../../schemas/ws.ts'
import type { Authenticated } from '../auth/authenticate.ts'
import type { Caller } from '../auth/caller.ts'
import type { API_LIMITS } from '../limits.ts'
import { type Refused, refusal } from './refusal-frame.ts'

export interface LoginDeps {
  readonly clock: Pick<Clock, 'now'>
  readonly schedule: Pick<Schedule, 'after'>
  readonly limits: {
    readonly [Name in keyof Pick<typeof API_LIMITS, 'authTimeoutMs' | 'tokenWarningMs'>]: number
  }
  readonly say: (frame: string) => void
  readonly end: (why: CloseReason, about: Refused) => void
}

type Admitted = Extract<Authenticated, { readonly kind: 'user' }>

/** Longer ones would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

export class Login {
  readonly #deps: LoginDeps
  #admitted: Admitted | undefined
  #stopTimer: () => void

  constructor(deps: LoginDeps) {
    this.#deps = deps
    this.#stopTimer = deps.schedule.after(deps.limits.authTimeoutMs, () =>
      deps.end('authTimeout', refusal('UNAUTHENTICATED', 'no token came in time')),
    )
  }

  get isOpen(): boolean {
    return this.#admitted !== undefined
  }

  admit(answer: Authenticated): void {
    if (answer.kind === 'refused') {
      this.#deps.end('unauthenticated', answer)
      return
    }
    const { user, expiresAt } = answer
    if (this.#admitted !== undefined && this.#admitted.user.id !== user.id) {
      this.#deps.end('forbidden', refusal('FORBIDDEN', 'this socket belongs to another user'))
      return
    }
    this.#admitted = answer
    const { id, email = null, name, role } = user
    const expires = expiresAt === undefined ? null : toIso(expiresAt)
    this.#deps.say(frameText({ type: 'auth_ok', user: { id, email, name, role }, expires_at: expires }))
    this.#stopTimer()
    if (expiresAt !== undefined) this.#awaitExpiry(expiresAt)
  }

  /** The caller as of now; undefined ends the socket, unless nobody has logged in yet. */
  user(): Caller | undefined {
    if (this.#admitted === undefined) return undefined
    const { current, expiresAt = Number.POSITIVE_INFINITY } = this.#admitted
    const user = current()
    if (user !== undefined && this.#deps.clock.now() < expiresAt) return user
    this.#deps.end('unauthenticated', refusal(user === undefined ? 'UNAUTHENTICATED' : 'TOKEN_EXPIRED'))
    return undefined
  }

  /** Ends the socket at once if it is a caller's whose tokens may be void now, and its own is. */
  review(changed: ReadonlySet<Caller['id']>): void {
    if (this.#admitted !== undefined && changed.has(this.#admitted.user.id)) this.user()
  }

  close(): void {
    this.#stopTimer()
    this.#admitted = undefined
  }

  #awaitExpiry(expiresAt: Millis): void {
    const { clock, schedule, limits, say, end } = this.#deps
    const untilWarningMs = expiresAt - clock.now() - limits.tokenWarningMs
    if (untilWarningMs > TIMER_MS_MAX) {
      this.#stopTimer = schedule.after(TIMER_MS_MAX, () => this.#awaitExpiry(expiresAt))
      return
    }
    this.#stopTimer = schedule.after(untilWarningMs, () => {
      const leftMs = Math.max(0, expiresAt - clock.now())
      if (leftMs > 0) say(frameText({ type: 'token_expiring', in: Math.ceil(leftMs / 1000) }))
      this.#stopTimer = schedule.after(leftMs, () => end('unauthenticated', refusal('TOKEN_EXPIRED')))
    })
  }
}
