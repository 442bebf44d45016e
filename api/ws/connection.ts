// The protocol of one socket: frames, login and closing.
// - Frames are processed one after the other, in the order of their arrival.
// - Nothing can be subscribed before `auth_ok`, and nothing is sent after the token has expired.
// - The user's scope is computed again for each batch of events.
import { unreachable } from '../../engine/domain/unreachable.ts'
import { Fault } from '../../engine/ports/fault.ts'
import type { DeviceId } from '../../schemas/ids.ts'
import type { RefusalAbout } from '../../schemas/problem.ts'
import {
  type ClientFrame,
  type CloseReason,
  frameText,
  parseClientFrame,
  type Subscribe,
} from '../../schemas/ws.ts'
import type { Authenticate, Authentication } from '../auth/authenticate.ts'
import type { Caller } from '../auth/caller.ts'
import { isInScope, scopeOf } from '../auth/scope.ts'
import { Budget } from './budget.ts'
import { CHANNEL_ROLES } from './channels.ts'
import { Login } from './login.ts'
import { Outbox } from './outbox.ts'
import { refusal, refusalFrame, type SocketRefusal } from './refusal-frame.ts'
import type { Scope, Subscriber } from './subscription.ts'
import { Subscriptions, type SubscriptionsHost, type SubscriptionsPorts } from './subscriptions.ts'
import type { Handshake, Wire, WireEvents } from './wire.ts'

export interface SocketLogger {
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
}

export interface ConnectionPorts extends Omit<SubscriptionsPorts, keyof SubscriptionsHost | 'budget'> {
  readonly id: string
  readonly heldBudget: Budget
  readonly authenticate: Authenticate
  /** A ticket can be redeemed once. */
  readonly redeemTicket: (ticket: string) => Promise<Authentication>
  readonly logger: SocketLogger | undefined
  readonly onClosed: (connection: Connection) => void
  /** The number of sockets of this user, including this one. */
  readonly socketsOf: (userId: string) => number
}

type Task =
  | { readonly kind: 'frame'; readonly frame: ClientFrame }
  | { readonly kind: 'ticket'; readonly ticket: string }
  | { readonly kind: 'refused'; readonly id: string | undefined; readonly about: RefusalAbout }

const BINARY: Task = {
  kind: 'refused',
  id: undefined,
  about: { code: 'BAD_REQUEST', detail: { message: 'send text frames' } },
}

export class Connection implements WireEvents, Subscriber {
  readonly outbox: Outbox
  readonly #wire: Wire
  readonly #ports: ConnectionPorts
  readonly #login: Login
  readonly ip: string
  readonly #subscriptions: Subscriptions
  readonly #tasks: Task[] = []
  #isWorking = false
  #isClosed = false
  #badFrames = 0
  /** When the frames received so far would have been due at the highest permitted rate. */
  #framesDueAt = 0
  #cachedScope: { readonly round: number; readonly scope: Scope | undefined } = {
    round: -1,
    scope: undefined,
  }

  constructor(wire: Wire, handshake: Handshake, ports: ConnectionPorts) {
    const { limits } = ports
    this.#wire = wire
    this.#ports = ports
    this.ip = handshake.ip
    const budget = new Budget(limits.heldBytesPerSocketMax, ports.heldBudget)
    const onFrozen = () => this.end('tryLater', 'too slow')
    this.outbox = new Outbox({ ...ports, wire, budget, onFrozen })
    this.#login = new Login({
      ...ports,
      send: (frame) => this.outbox.answer(frame),
      end: (why, about) => this.#refuseAndEnd(why, about),
    })
    this.#subscriptions = new Subscriptions(this, {
      ...{ ...ports, budget },
      user: () => this.#login.user(),
      isClosed: () => this.#isClosed,
      refuse: (about) => this.#refuse(about),
      refuseAndEnd: (why, about) => this.#refuseAndEnd(why, about),
    })
    if (handshake.token !== undefined)
      this.#add({ kind: 'frame', frame: { type: 'auth', token: handshake.token } })
    else if (handshake.ticket !== undefined) this.#add({ kind: 'ticket', ticket: handshake.ticket })
  }

  /** The user who is logged in. */
  get userId(): string | undefined {
    return this.#login.userId
  }

  get subscriptionCount(): number {
    return this.#subscriptions.count
  }

  received(text: string | undefined): void {
    if (this.#isTooFast()) {
      this.#refuseAndEnd(
        'tooMany',
        refusal('RATE_LIMIT_EXCEEDED', 'too many frames came at once; send fewer'),
      )
      return
    }
    this.#add(text === undefined ? BINARY : parseClientFrame(text))
  }

  tooLarge(actual: number): void {
    const detail = { limit: this.#ports.limits.frameInBytesMax, actual }
    this.#refuseAndEnd('tooLarge', { code: 'PAYLOAD_TOO_LARGE', detail })
  }

  drained(): void {
    this.outbox.resume()
  }

  closed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#login.close()
    this.#tasks.length = 0
    this.#subscriptions.close()
    this.outbox.close()
    this.#ports.onClosed(this)
  }

  end(why: CloseReason, text: string): void {
    this.#wire.end(why, text)
    this.closed()
  }

  review(changed: ReadonlySet<Caller['id']>): void {
    this.#login.recheck(changed)
  }

  scopeAt(round: number): Scope | undefined {
    if (this.#cachedScope.round !== round) this.#cachedScope = { round, scope: this.#scope() }
    return this.#isClosed ? undefined : this.#cachedScope.scope
  }

  scopeNow(): Scope | undefined {
    return this.#isClosed ? undefined : this.#scope()
  }

  maySee(deviceId: DeviceId, channel: Subscribe['channel'], ownGroup?: string): boolean {
    const scope = this.#scope()
    if (scope === undefined || !CHANNEL_ROLES[channel].includes(scope.role)) return false
    return isInScope(ownGroup ?? this.#ports.engine.devices.summary(deviceId)?.group, scope.groups)
  }

  maySeeAll(groups: readonly (string | undefined)[], channel: Subscribe['channel']): boolean {
    const scope = this.#scope()
    if (scope === undefined || !CHANNEL_ROLES[channel].includes(scope.role)) return false
    return groups.every((group) => isInScope(group, scope.groups))
  }

  #add(task: Task): void {
    if (this.#isClosed) return
    if (this.#tasks.length >= this.#ports.limits.framesWaitingMax) {
      this.#refuseAndEnd(
        'tooMany',
        refusal('RATE_LIMIT_EXCEEDED', 'too many frames are waiting; send fewer at once'),
      )
      return
    }
    this.#tasks.push(task)
    if (!this.#isWorking) void this.#processTasks()
  }

  #isTooFast(): boolean {
    const { framesPerSecMax, framesWaitingMax } = this.#ports.limits
    const now = this.#ports.clock.ticks()
    this.#framesDueAt = Math.max(this.#framesDueAt, now) + 1000 / framesPerSecMax
    return this.#framesDueAt - now > (framesWaitingMax * 1000) / framesPerSecMax
  }

  /** Never rejects. */
  async #processTasks(): Promise<void> {
    this.#isWorking = true
    for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) {
      try {
        await this.#process(task)
      } catch (error) {
        this.#fail(error, task)
      }
    }
    this.#isWorking = false
  }

  async #process(task: Task): Promise<void> {
    const isLogin = task.kind === 'ticket' || (task.kind === 'frame' && task.frame.type === 'auth')
    if (!isLogin && !this.#login.isOpen) {
      const id = task.kind === 'refused' ? task.id : 'id' in task.frame ? task.frame.id : undefined
      return this.#refuseAndEnd('unauthenticated', refusal('UNAUTHENTICATED', 'send an auth frame first', id))
    }
    if (task.kind === 'refused') return this.#refuseFrame(task)
    if (task.kind === 'ticket') return this.#admit(await this.#ports.redeemTicket(task.ticket))
    const { frame } = task
    switch (frame.type) {
      case 'auth':
        return this.#admit(await this.#ports.authenticate(frame.token))
      case 'subscribe':
        await this.#ports.engine.devices.freshen()
        return this.#subscriptions.add(frame)
      case 'unsubscribe':
        return this.#subscriptions.remove(frame.id)
      case 'ping':
        return this.outbox.answer(frameText({ type: 'pong' }))
      default:
        return unreachable(frame)
    }
  }

  #admit(answer: Authentication): void {
    if (this.#isClosed) return
    const isFirst = !this.#login.isOpen
    this.#login.admit(answer)
    const { socketsOf, limits } = this.#ports
    if (isFirst && this.userId !== undefined && socketsOf(this.userId) > limits.socketsPerUserMax)
      this.#refuseAndEnd(
        'tooMany',
        refusal('RATE_LIMIT_EXCEEDED', 'this user has too many sockets open; close one'),
      )
    this.#cachedScope = { round: -1, scope: undefined }
  }

  #scope(): Scope | undefined {
    const user = this.#login.user()
    return user === undefined ? undefined : { role: user.role, groups: scopeOf(user) }
  }

  #refuseFrame({ id, about }: Task & { kind: 'refused' }): void {
    this.#badFrames += 1
    this.#refuse({ ...about, id })
    if (this.#badFrames > this.#ports.limits.badFramesMax) this.end('abuse', 'too many bad frames')
  }

  #fail(error: unknown, task: Task): void {
    if (this.#isClosed) return
    const { logger, id } = this.#ports
    const subscriptionId =
      task.kind === 'frame' && task.frame.type === 'subscribe' ? task.frame.id : undefined
    if (error instanceof Fault) {
      logger?.warn(
        { socket: id, ip: this.ip, fault: error.code, reason: error.message },
        'a /ws frame was refused: a dependency is unavailable',
      )
      this.#refuse(refusal('DEPENDENCY_UNAVAILABLE', 'try again', subscriptionId))
    } else {
      logger?.error(
        { socket: id, ip: this.ip, err: error },
        'a /ws frame failed because of a bug in Fleet: please report it with this line',
      )
      this.#refuse(refusal('INTERNAL', 'tell the operator the request_id', subscriptionId))
    }
    if (!this.#login.isOpen) this.end('tryLater', 'try again')
  }

  #refuse(about: SocketRefusal): void {
    this.outbox.answer(refusalFrame(about, this.#ports.id))
  }

  #refuseAndEnd(why: CloseReason, about: SocketRefusal): void {
    this.#refuse(about)
    this.end(why, about.code)
  }
}
