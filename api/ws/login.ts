// The login of a socket, from waiting for a token until the token expires.
// - The user is looked up each time, so a demotion, a new password or a lock takes effect at once.
// - A socket belongs to its first user. A new token of the same user extends the login.

import type { Clock } from '../../engine/ports/clock.ts'
import type { Schedule } from '../../engine/ports/schedule.ts'
import { type Millis, toIso } from '../../schemas/ids.ts'
import { type CloseReason, frameText } from '../../schemas/ws.ts'
import type { Authentication } from '../auth/authenticate.ts'
import type { Caller } from '../auth/caller.ts'
import type { API_LIMITS } from '../limits.ts'
import { refusal, type SocketRefusal } from './refusal-frame.ts'

export interface LoginPorts {
  readonly clock: Pick<Clock, 'now'>
  readonly schedule: Pick<Schedule, 'after'>
  readonly limits: {
    readonly [Name in keyof Pick<typeof API_LIMITS, 'authTimeoutMs' | 'tokenWarningMs'>]: number
  }
  readonly send: (frame: string) => void
  readonly end: (why: CloseReason, about: SocketRefusal) => void
}

type Holder = Extract<Authentication, { readonly kind: 'user' }>

/** The longest timeout that timers support. A longer one would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

export class Login {
  readonly #ports: LoginPorts
  #holder: Holder | undefined
  #stopTimer: () => void

  constructor(ports: LoginPorts) {
    this.#ports = ports
    this.#stopTimer = ports.schedule.after(ports.limits.authTimeoutMs, () =>
      ports.end(
        'authTimeout',
        refusal('UNAUTHENTICATED', 'no token came in time; connect again, and send an auth frame first'),
      ),
    )
  }

  get userId(): string | undefined {
    return this.#holder?.user.id
  }

  get isOpen(): boolean {
    return this.#holder !== undefined
  }

  admit(answer: Authentication): void {
    if (answer.kind === 'refused') {
      this.#ports.end('unauthenticated', answer)
      return
    }
    const { user, expiresAt } = answer
    if (this.#holder !== undefined && this.#holder.user.id !== user.id) {
      this.#ports.end('forbidden', refusal('FORBIDDEN', 'this socket belongs to another user'))
      return
    }
    this.#holder = answer
    const { id, email = null, name, role } = user
    const expires = expiresAt === undefined ? null : toIso(expiresAt)
    this.#ports.send(frameText({ type: 'auth_ok', user: { id, email, name, role }, expires_at: expires }))
    this.#stopTimer()
    if (expiresAt !== undefined) this.#awaitExpiry(expiresAt)
  }

  /** The current caller. If undefined, the socket is closed, unless nobody has logged in yet. */
  user(): Caller | undefined {
    if (this.#holder === undefined) return undefined
    const { current, expiresAt = Number.POSITIVE_INFINITY } = this.#holder
    const user = current()
    if (user !== undefined && this.#ports.clock.now() < expiresAt) return user
    this.#ports.end('unauthenticated', refusal(user === undefined ? 'UNAUTHENTICATED' : 'TOKEN_EXPIRED'))
    return undefined
  }

  /** Closes the socket at once if its user is among the changed ones and the token has become void. */
  recheck(changed: ReadonlySet<Caller['id']>): void {
    if (this.#holder !== undefined && changed.has(this.#holder.user.id)) this.user()
  }

  close(): void {
    this.#stopTimer()
    this.#holder = undefined
  }

  #awaitExpiry(expiresAt: Millis): void {
    const { clock, schedule, limits, send, end } = this.#ports
    const untilWarningMs = expiresAt - clock.now() - limits.tokenWarningMs
    if (untilWarningMs > TIMER_MS_MAX) {
      this.#stopTimer = schedule.after(TIMER_MS_MAX, () => this.#awaitExpiry(expiresAt))
      return
    }
    this.#stopTimer = schedule.after(untilWarningMs, () => {
      const leftMs = Math.max(0, expiresAt - clock.now())
      if (leftMs > 0) send(frameText({ type: 'token_expiring', in: Math.ceil(leftMs / 1000) }))
      this.#stopTimer = schedule.after(leftMs, () => end('unauthenticated', refusal('TOKEN_EXPIRED')))
    })
  }
}
