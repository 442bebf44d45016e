// For tests: the engine as a broker sees it. It admits devices, records what it is told, and calls messages durable at
// once or when the test says so.
import { Buffer } from 'node:buffer'
import { type DeviceId, Micros, Millis, Partition, parseDeviceId } from '../../../../schemas/ids.ts'
import {
  type Admission,
  COMMAND_SUFFIX,
  CONNACK,
  type ConnectAttempt,
  type DeviceSession,
  type EndCause,
  type RefusedMessage,
  type SessionGrant,
  type UplinkHost,
  type UplinkMessage,
} from '../../../ports/broker.ts'

export const PASSWORD = 'secret'

export type HostEvent =
  | { readonly kind: 'opened'; readonly session: DeviceSession }
  | { readonly kind: 'closed'; readonly session: DeviceSession; readonly cause: EndCause }
  | ({ readonly kind: 'message'; readonly session: DeviceSession; readonly text: string } & Omit<
      UplinkMessage,
      'payload'
    >)

export class FakeHost implements UplinkHost {
  /** Sessions that take commands. */
  readonly listeners: DeviceSession[] = []
  readonly events: HostEvent[] = []
  /** Fields that differ from the usual admission, by client id. */
  readonly admissions = new Map<string, Partial<SessionGrant>>()
  readonly attempts: ConnectAttempt[] = []
  readonly refusals: string[] = []
  /** The topics of messages that were refused. */
  readonly refusedTopics: string[] = []
  readonly deliveries: string[] = []
  /** The origin of each message, in hexadecimal. */
  readonly origins: (string | undefined)[] = []
  readonly dups: boolean[] = []
  readonly lefts: DeviceSession[] = []
  /** Watermarks that a broker outside has reported. */
  readonly heardUpTo = new Map<Partition, Millis>()
  /** If true, messages stay pending until `release` is called. */
  isHolding = false
  /** Set by a test that wants messages to be judged. */
  judge?: NonNullable<UplinkHost['judge']>
  /** How many devices send by the connection of a device, where it is not one. */
  readonly senders = new Map<DeviceId, number>()
  congested = false
  readonly #pending = new Map<DeviceSession, number>()
  #number = 1_000
  #isFlushing = false

  async admit(attempt: ConnectAttempt): Promise<Admission> {
    this.attempts.push(attempt)
    const deviceId = parseDeviceId(attempt.clientId)
    const isRight = attempt.password !== undefined && Buffer.from(attempt.password).toString() === PASSWORD
    if (deviceId === undefined) return { kind: 'denied', code: CONNACK.identifier, reason: 'no device id' }
    if (!isRight) return { kind: 'denied', code: CONNACK.unauthorized, reason: 'wrong password' }
    return {
      kind: 'admitted',
      deviceId,
      partition: Partition(0),
      mayPublish: true,
      maySubscribe: true,
      expiresAt: Millis(Number.MAX_SAFE_INTEGER),
      ...this.admissions.get(attempt.clientId),
    }
  }

  sessionNumber(): Micros {
    return Micros(++this.#number)
  }

  opened(session: DeviceSession): void {
    this.events.push({ kind: 'opened', session })
  }

  subscribed(session: DeviceSession): void {
    const known = this.listeners.indexOf(session)
    if (session.takes(COMMAND_SUFFIX) && known < 0) this.listeners.push(session)
    if (!session.takes(COMMAND_SUFFIX) && known >= 0) this.listeners.splice(known, 1)
  }

  uplink(session: DeviceSession, message: UplinkMessage): void {
    const { suffix, payload, qos, retain, will, origin, isDup } = message
    this.origins.push(origin && Buffer.from(origin).toString('hex'))
    this.dups.push(isDup === true)
    const text = Buffer.from(payload).toString()
    this.events.push({ kind: 'message', session, suffix, text, qos, retain, will })
    this.#await(session)
  }

  #await(session: DeviceSession): void {
    this.#pending.set(session, this.pendingOf(session) + 1)
    if (this.isHolding || this.#isFlushing) return
    this.#isFlushing = true
    // Like an append: after the read that brought the messages, and for many at once.
    setImmediate(() => {
      this.#isFlushing = false
      if (!this.isHolding) this.release()
    })
  }

  sendersOf({ deviceId }: DeviceSession): number {
    return this.senders.get(deviceId) ?? 1
  }

  delivered({ deviceId }: DeviceSession, suffix: string, requestId: string): void {
    this.deliveries.push(`${deviceId} ${suffix} ${requestId}`)
  }

  sync(session: DeviceSession): void {
    this.#await(session)
  }

  left(session: DeviceSession): void {
    this.lefts.push(session)
  }

  readonly expiries: string[] = []
  expiring({ deviceId }: DeviceSession, expiresAt: Millis): void {
    this.expiries.push(`${deviceId} ${expiresAt}`)
  }

  closed(session: DeviceSession, cause: EndCause): void {
    this.events.push({ kind: 'closed', session, cause })
  }

  readonly rejections: string[] = []
  rejected({ clientId, ip }: { readonly clientId: string; readonly ip: string }, reason: string): void {
    this.rejections.push(`${clientId} ${ip} ${reason}`)
  }

  refused({ deviceId }: DeviceSession, wanted: 'publish' | 'subscribe', message?: RefusedMessage): void {
    this.refusals.push(`${deviceId} ${wanted}`)
    if (message !== undefined) this.refusedTopics.push(message.topic)
  }

  heard(partitions: readonly Partition[], at: Millis): void {
    for (const partition of partitions) this.heardUpTo.set(partition, at)
  }

  isCongested(): boolean {
    return this.congested
  }

  /** True if nothing is pending. */
  get isSettled(): boolean {
    return this.#pending.size === 0
  }

  pendingOf(session: DeviceSession): number {
    return this.#pending.get(session) ?? 0
  }

  /** Calls everything handed over so far durable. */
  release(): void {
    const pending = [...this.#pending]
    this.#pending.clear()
    for (const [session, count] of pending) session.durable(count)
  }

  messages(deviceId?: string): readonly Extract<HostEvent, { kind: 'message' }>[] {
    return this.events.filter(
      (event) => event.kind === 'message' && isOf(event.session, deviceId),
    ) as Extract<HostEvent, { kind: 'message' }>[]
  }

  texts(deviceId?: string): readonly string[] {
    return this.messages(deviceId).map(({ text }) => text)
  }

  causes(deviceId?: string): readonly EndCause[] {
    return this.events.flatMap((event) =>
      event.kind === 'closed' && isOf(event.session, deviceId) ? [event.cause] : [],
    )
  }

  sessions(deviceId: DeviceId | string): readonly DeviceSession[] {
    return this.events.flatMap((event) =>
      event.kind === 'opened' && isOf(event.session, deviceId) ? [event.session] : [],
    )
  }
}

function isOf(session: DeviceSession, deviceId: string | undefined): boolean {
  return deviceId === undefined || session.deviceId === deviceId
}

/** Waits for a condition that must come true soon. The deadline only ends a test that fails. */
export async function until(condition: () => boolean, what: string, deadlineMs = 60_000): Promise<void> {
  const deadline = performance.now() + deadlineMs
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
