// Sends messages to devices through an outside broker, over one connection of MQTT.js.
//
// D1. A live message (a command) is sent now or not at all: the record keeps it and sends it again (R5).
// - Every other message waits while the broker is away, within bounds, and is sent in order. Only the last retained
//   message per topic is kept.
// D3. Each connection is a client of its own. Messages in flight when one ends are sent again by the next, unless live.
// D4. EMQX lets anybody in while its authentication is unavailable, and then refuses every message. So a connection that
//     has delivered nothing yet is opened again when a message is refused, a few times.
import { Buffer } from 'node:buffer'
import { connect, type IClientPublishOptions, type MqttClient } from 'mqtt'
import { LIMITS } from '../../../limits.ts'
import type { MqttAccount } from './mqtt-lane.ts'

export interface Publication {
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: 0 | 1 | 2
  readonly retain: boolean
  readonly isLive: boolean
  readonly expirySec?: number | undefined
  /** Topic on which a reply is expected, and the data that identifies it. */
  readonly request?: { readonly topic: string; readonly correlation: Buffer } | undefined
}

export interface DownlinksOptions {
  readonly url: string
  readonly account: MqttAccount
  /** Unique to this run of the process. */
  readonly clientId: string
  readonly warn: (message: string, about: object) => void
}

/** `nobody`: the broker had no subscriber. `lost`: the message did not reach the broker. */
export type Outcome = 'taken' | 'nobody' | 'lost'

interface Job {
  readonly publication: Publication
  readonly settle: (outcome: Outcome) => void
}

const NO_SUBSCRIBERS = 0x10
const NOT_AUTHORIZED = 0x87

export class MqttDownlinks {
  readonly #options: DownlinksOptions
  /** Oldest first. The key of a retained message is its topic. */
  readonly #waiting = new Map<object | string, Job>()
  #waitingBytes = 0
  readonly #inFlight = new Set<Job>()
  /** Packet ids of messages that had no subscriber. */
  readonly #unsubscribed = new Set<number>()
  #client: MqttClient | undefined
  #isConnected = false
  #isFailing = false
  #retry: NodeJS.Timeout | undefined
  #delayMs: number = LIMITS.mqttReconnectMs
  /** Successive connections whose first message was refused (D4). */
  #refusals = 0
  #hasDelivered = false
  #isClosed = false
  #dropped = 0

  constructor(options: DownlinksOptions) {
    this.#options = options
  }

  get waiting(): number {
    return this.#waiting.size + this.#inFlight.size
  }

  /** Messages that were dropped because too many waited. */
  get dropped(): number {
    return this.#dropped
  }

  publish(publication: Publication): Promise<Outcome> {
    this.#open()
    // Waits for a connection that is being opened, but not for one that is lost.
    if (this.#isClosed || (publication.isLive && this.#client === undefined)) return Promise.resolve('lost')
    return new Promise((settle) => {
      this.#add({ publication, settle })
      this.#send()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#retry)
    for (const { settle } of this.#waiting.values()) settle('lost')
    this.#waiting.clear()
    const client = this.#client
    if (client === undefined) return
    // Messages in flight are still sent, if the broker takes them.
    const ended = new Promise<void>((resolve) => client.end(!this.#isConnected, {}, () => resolve()))
    const late = setTimeout(() => client.end(true), LIMITS.ingestStopTimeoutMs)
    await ended
    clearTimeout(late)
    this.#lost(client)
  }

  /** Opened for the first message, so that a process that sends nothing has no connection. */
  #open(): void {
    if (this.#client !== undefined || this.#retry !== undefined || this.#isClosed) return
    const { url, account, clientId, warn } = this.#options
    const client = connect(url, {
      clientId,
      username: account.user,
      password: account.password,
      protocolVersion: 5,
      clean: true,
      reconnectPeriod: 0,
      connectTimeout: LIMITS.mqttReconnectMsMax,
      keepalive: LIMITS.keepAliveSecDefault / 4,
      queueQoSZero: false,
    })
    this.#client = client
    client.on('connect', () => {
      this.#isConnected = true
      this.#isFailing = false
      this.#hasDelivered = false
      if (this.#refusals === 0) this.#delayMs = LIMITS.mqttReconnectMs
      this.#send()
    })
    // MQTT.js does not pass this reason code on. It calls back right after this event.
    client.on('packetreceive', (packet) => {
      if (packet.cmd !== 'puback' && packet.cmd !== 'pubrec') return
      if (packet.reasonCode === NO_SUBSCRIBERS) this.#unsubscribed.add(messageIdOf(packet))
      if (packet.reasonCode !== NOT_AUTHORIZED) this.#hasDelivered = true
      else if (!this.#hasDelivered && this.#refusals < LIMITS.downlinksRefusedMax) {
        this.#refusals++
        this.#lost(client)
        return
      }
      this.#refusals = 0
    })
    client.on('error', (error) => {
      if (!this.#isFailing)
        warn('no connection to the broker: messages to devices wait, commands are sent again later', {
          err: error,
        })
      this.#isFailing = true
    })
    client.on('close', () => this.#lost(client))
  }

  #lost(client: MqttClient): void {
    if (this.#client !== client) return
    this.#client = undefined
    this.#isConnected = false
    const resent = [...this.#inFlight].filter(({ publication }) => !publication.isLive)
    const dropped = [...this.#inFlight].filter(({ publication }) => publication.isLive)
    const queued = [...this.#waiting.values()]
    this.#inFlight.clear()
    // MQTT.js calls back for messages in flight. For the messages above, those calls are ignored.
    client.end(true)
    this.#unsubscribed.clear()
    this.#waiting.clear()
    this.#waitingBytes = 0
    for (const { settle } of dropped) settle('lost')
    // D3, D1.
    for (const job of [...resent, ...queued]) {
      if (this.#isClosed || job.publication.isLive) job.settle('lost')
      else this.#add(job)
    }
    if (this.#isClosed) return
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      this.#open()
    }, this.#delayMs)
    this.#delayMs = Math.min(this.#delayMs * 2, LIMITS.mqttReconnectMsMax)
  }

  #add(job: Job): void {
    const { publication } = job
    const key = publication.retain ? publication.topic : job
    const older = this.#waiting.get(key)
    if (older !== undefined) this.#remove(key, older, 'taken')
    this.#waiting.set(key, job)
    this.#waitingBytes += publication.payload.length
    while (
      this.#waiting.size > LIMITS.downlinksWaitingMax ||
      this.#waitingBytes > LIMITS.downlinksWaitingBytesMax
    ) {
      const [oldest] = this.#waiting
      if (oldest === undefined) return
      this.#dropped++
      this.#remove(...oldest, 'lost')
    }
  }

  #remove(key: object | string, job: Job, outcome: Outcome): void {
    this.#waiting.delete(key)
    this.#waitingBytes -= job.publication.payload.length
    job.settle(outcome)
  }

  #send(): void {
    const client = this.#client
    if (client === undefined || !this.#isConnected) return
    for (const [key, job] of this.#waiting) {
      if (this.#inFlight.size >= LIMITS.downlinksInFlightMax) return
      this.#waiting.delete(key)
      this.#waitingBytes -= job.publication.payload.length
      this.#inFlight.add(job)
      const { topic, payload, qos, retain, expirySec, request } = job.publication
      const properties = {
        ...(expirySec !== undefined && { messageExpiryInterval: expirySec }),
        ...(request && { responseTopic: request.topic, correlationData: request.correlation }),
      }
      const options: IClientPublishOptions = { qos, retain, properties }
      client.publish(topic, Buffer.from(payload), options, (error, packet) => {
        if (!this.#inFlight.delete(job)) return
        job.settle(error ? 'lost' : this.#unsubscribed.delete(messageIdOf(packet)) ? 'nobody' : 'taken')
        this.#send()
      })
    }
  }
}

function messageIdOf(packet: { readonly messageId?: number | undefined } | undefined): number {
  return packet?.messageId ?? 0
}
