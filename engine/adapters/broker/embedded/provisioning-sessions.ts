// Connections of peers that show a provisioning key instead of a device's token. Each is a session that may publish on
// `provision/get` alone, and is answered there. It is no session of a device: the host hears nothing of it, it takes over
// no other connection, and nothing is retained or kept for it.
//
// N1. A peer must subscribe before it asks. Otherwise it would use up a place of its key without seeing the answer.
// - The number of connections, their duration and their requests are bounded.
import { Buffer } from 'node:buffer'
import { Micros, type Millis } from '../../../../schemas/ids.ts'
import { PROVISION_ACCEPTED_SUFFIX, PROVISION_GET_SUFFIX } from '../../../../schemas/topics.ts'
import { partitionOf } from '../../../domain/partition.ts'
import { LIMITS } from '../../../limits.ts'
import type { ProvisioningGrant, UplinkHost, UplinkMessage } from '../../../ports/broker.ts'
import type { Clock } from '../../../ports/clock.ts'
import { acceptConnect } from './accept-connect.ts'
import type { Connect } from './connect-fields.ts'
import type { Handshake } from './handshake.ts'
import { REASON } from './reasons.ts'
import { RetainedMessages } from './retained-messages.ts'
import { Session } from './session.ts'
import type { LiveSession, SessionHub } from './session-hub.ts'
import { SessionState } from './session-state.ts'

export interface ProvisioningPorts {
  readonly clock: Clock
  readonly closeWith: SessionHub['closeWith']
}

export class ProvisioningSessions {
  readonly #ports: ProvisioningPorts
  readonly #open = new Map<LiveSession, SessionHub>()

  constructor(ports: ProvisioningPorts) {
    this.#ports = ports
  }

  get isFull(): boolean {
    return this.#open.size >= LIMITS.provisioningSessionsMax
  }

  open({ socket, rest }: Handshake, connect: Connect, grant: ProvisioningGrant): void {
    const { clock } = this.#ports
    const { deviceId } = grant
    const host = new ProvisioningHost(grant)
    const hub = this.#hub(host)
    const session = new Session(hub, socket, {
      deviceId,
      partition: partitionOf(deviceId),
      number: Micros(0),
      ip: socket.remoteAddress ?? '',
      mayPublish: true,
      maySubscribe: true,
      expiresAt: clock.now() + LIMITS.provisioningSessionMs,
      keepAliveMs: connect.keepAliveMs,
      will: undefined,
      state: new SessionState(0),
      v5Options: connect.v5Options,
      allowance: undefined,
    })
    host.session = session
    this.#open.set(session, hub)
    session.open(acceptConnect(connect, false), rest)
  }

  sweep(ticks: number, now: Millis, asleepMs: number): void {
    for (const [session, hub] of this.#open) {
      hub.tick = ticks
      session.sweep(ticks, now, asleepMs)
    }
  }

  #hub(host: UplinkHost): SessionHub {
    const { clock, closeWith } = this.#ports
    return {
      host,
      retained: new RetainedMessages(),
      message: { suffix: '', payload: Buffer.alloc(0), qos: 0, retain: false, will: false },
      publishes: [0, 0, 0],
      bytesIn: 0,
      refusedTopics: 0,
      cutFrozen: 0,
      shedQos0: 0,
      tick: clock.ticks(),
      now: () => clock.now(),
      publish: async () => false,
      liveSession: () => undefined,
      paused() {},
      resumePaused() {},
      ended: (session) => this.#open.delete(session),
      closeWith,
      delayWill() {},
    }
  }
}

/** Answers what a provisioning peer publishes. */
class ProvisioningHost implements UplinkHost {
  session: LiveSession | undefined
  readonly #grant: ProvisioningGrant
  #requests = 0

  constructor(grant: ProvisioningGrant) {
    this.#grant = grant
  }

  uplink(_: unknown, { suffix, payload }: UplinkMessage): void {
    const { session } = this
    if (session === undefined) return
    // by N1
    if (suffix !== PROVISION_GET_SUFFIX || !session.takes(PROVISION_ACCEPTED_SUFFIX))
      session.end('abuse', suffix === PROVISION_GET_SUFFIX ? NOT_SUBSCRIBED : WRONG_TOPIC)
    else if (++this.#requests > LIMITS.provisioningAsksMax) session.end('abuse', TOO_OFTEN)
    else void this.#answer(session, Uint8Array.from(payload))
  }

  async #answer(session: LiveSession, payload: Uint8Array): Promise<void> {
    const { suffix, payload: reply } = await this.#grant.ask(payload)
    void session.publish({ suffix, payload: Buffer.from(reply), qos: 1, retain: false })
    session.durable(1)
  }

  /** A message outside the device's topics was refused, and its acknowledgement waits for this call. */
  sync(): void {
    queueMicrotask(() => this.session?.durable(1))
  }

  async admit(): Promise<never> {
    throw new Error('a session is not admitted again')
  }
  sessionNumber = () => Micros(0)
  opened(): void {}
  subscribed(): void {}
  delivered(): void {}
  left(): void {}
  closed(): void {}
  refused(): void {}
  heard(): void {}
  isCongested = () => false
}

const WRONG_TOPIC = {
  reason: REASON.notAuthorized,
  text: 'with a provisioning key a device publishes on provision/get alone; it connects again with its token',
} as const
const NOT_SUBSCRIBED = {
  reason: REASON.notAuthorized,
  text: 'subscribe to provision/accepted and provision/rejected before provision/get',
} as const
const TOO_OFTEN = { reason: REASON.quota, text: 'connect again to ask more often' } as const
