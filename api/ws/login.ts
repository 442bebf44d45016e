// Who is behind a socket, and for how long: from the wait for a token to its expiry.
// L1. The user is looked up anew each time: a demotion, a new password or a lock counts at once.
// L2. A socket stays with its first user; a new token of the same one prolongs it.
import type { LIMITS } from '../../engine/limits.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { User, Users } from '../../engine/ports/users.ts'
import { type Millis, toIso } from '../../schemas/ids.ts'
import { type CloseReason, frameText } from '../../schemas/ws.ts'
import type { Authenticated } from '../auth/authenticate.ts'
import { type Refused, refusal } from './refusal-frame.ts'
import type { Scheduler } from './scheduler.ts'

export interface LoginDeps {
  readonly users: Pick<Users, 'get'>
  readonly clock: Pick<Clock, 'now'>
  readonly scheduler: Scheduler
  readonly limits: {
    readonly [Name in keyof Pick<typeof LIMITS, 'authTimeoutMs' | 'tokenWarningMs'>]: number
  }
  readonly say: (frame: string) => void
  readonly end: (why: CloseReason, about: Refused) => void
}

interface Admitted {
  readonly userId: User['id']
  readonly tokensValidFrom: Millis
  readonly expiresAt: Millis
}

export class Login {
  readonly #deps: LoginDeps
  #admitted: Admitted | undefined
  #stopTimer: () => void

  constructor(deps: LoginDeps) {
    this.#deps = deps
    this.#stopTimer = deps.scheduler.after(deps.limits.authTimeoutMs, () =>
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
    if (this.#admitted !== undefined && this.#admitted.userId !== user.id) {
      this.#deps.end('forbidden', refusal('FORBIDDEN', 'this socket belongs to another user'))
      return
    }
    this.#admitted = { userId: user.id, tokensValidFrom: user.tokensValidFrom, expiresAt }
    const { id, email, name, role } = user
    this.#deps.say(
      frameText({ type: 'auth_ok', user: { id, email, name, role }, expires_at: toIso(expiresAt) }),
    )
    this.#awaitExpiry(expiresAt)
  }

  /** The user as of now; undefined ends the socket, unless nobody has logged in yet. */
  user(): User | undefined {
    if (this.#admitted === undefined) return undefined
    const { userId, tokensValidFrom, expiresAt } = this.#admitted
    const user = this.#deps.users.get(userId)
    const isValid = user !== undefined && !user.disabled && user.tokensValidFrom <= tokensValidFrom
    if (isValid && this.#deps.clock.now() < expiresAt) return user
    this.#deps.end('unauthenticated', refusal(isValid ? 'TOKEN_EXPIRED' : 'UNAUTHENTICATED'))
    return undefined
  }

  close(): void {
    this.#stopTimer()
    this.#admitted = undefined
  }

  #awaitExpiry(expiresAt: Millis): void {
    const { clock, scheduler, limits, say, end } = this.#deps
    this.#stopTimer()
    this.#stopTimer = scheduler.after(expiresAt - clock.now() - limits.tokenWarningMs, () => {
      const leftMs = Math.max(0, expiresAt - clock.now())
      if (leftMs > 0) say(frameText({ type: 'token_expiring', in: Math.ceil(leftMs / 1000) }))
      this.#stopTimer = scheduler.after(leftMs, () => end('unauthenticated', refusal('TOKEN_EXPIRED')))
    })
  }
}
