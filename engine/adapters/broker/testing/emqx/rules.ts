// For tests: EMQX's rules for messages and events (deploy/emqx/emqx.conf), and the MQTT client that republishes.
import { createHash, randomBytes } from 'node:crypto'
import { connectAsync, type IClientPublishOptions, type MqttClient } from 'mqtt'

export interface RuleMessage {
  readonly topic: string
  readonly payload: Buffer
  /** MQTT 5 user properties. */
  readonly up?: Readonly<Record<string, string>> | undefined
}

const UPLINK =
  /^fleet\/[^/]+\/(sub\/[^/]+\/)?(telemetry(\/.*)?|status|log|shadow\/reported|shadow\/get|command\/ack|ota\/status)$/
const COMMAND = /^fleet\/[^/]+\/(sub\/[^/]+\/)?command$/
const DEVICE_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

export function isUplink(topic: string): boolean {
  return UPLINK.test(topic)
}

export function isCommand(topic: string): boolean {
  return COMMAND.test(topic)
}

export function isDevice(clientId: string): boolean {
  return DEVICE_ID.test(clientId)
}

/** EMQX's message ids of one connection: 64 bits of microseconds, 48 that name the connection, 16 that count. */
export class MessageIds {
  readonly #connection = randomBytes(6).toString('hex')
  #latest = 0
  #count = 0

  next(): string {
    const now = Date.now() * 1000
    this.#count = now > this.#latest ? 0 : this.#count + 1
    this.#latest = Math.max(now, this.#latest)
    const at = this.#latest.toString(16).padStart(16, '0')
    return `${at}${this.#connection}${this.#count.toString(16).padStart(4, '0')}`.toUpperCase()
  }
}

export function toUplink(
  { topic, payload, qos, retain }: { topic: string; payload: Buffer; qos: number; retain: boolean },
  { id, isWill }: { readonly id: string; readonly isWill: boolean },
): RuleMessage {
  const flags = { retain: String(retain), qos: String(qos), will: String(isWill) }
  const up = { id, ts: String(Date.now()), ...flags }
  return { topic: `ingest/${partitionOf(topic.split('/')[1] ?? '')}/${topic}`, payload, up }
}

export function toEvent(
  name: 'connected' | 'disconnected' | 'subscribed' | 'delivered',
  clientid: string,
  columns: Readonly<Record<string, unknown>>,
): RuleMessage {
  const p = partitionOf(clientid)
  const event = { p, clientid, timestamp: Date.now(), ...columns }
  return { topic: `ingest/${p}/fleet/${clientid}/$${name}`, payload: Buffer.from(JSON.stringify(event)) }
}

/** One connection to the broker. `open` makes another one; messages under way on the old one fail. */
export class Republisher {
  readonly #port: number
  #client: MqttClient | undefined

  constructor(port: number) {
    this.#port = port
  }

  async open(): Promise<void> {
    await this.close()
    this.#client = await connectAsync(`mqtt://127.0.0.1:${this.#port}`, {
      clientId: 'fleet:rules',
      username: 'fleet:rules',
      protocolVersion: 5,
      reconnectPeriod: 0,
    })
    this.#client.on('error', () => {})
  }

  async close(): Promise<void> {
    await this.#client?.endAsync(true)
    this.#client = undefined
  }

  /** Resolves once the broker has the message. Rejects if that will never be known. */
  send({ topic, payload, up }: RuleMessage): Promise<void> {
    const client = this.#client
    if (client === undefined) return Promise.reject(new Error('the broker is away'))
    const options: IClientPublishOptions = {
      qos: 1,
      ...(up !== undefined && { properties: { userProperties: { ...up } } }),
    }
    return new Promise((resolve, reject) => {
      const gone = () => reject(new Error('the broker is away'))
      client.once('close', gone)
      client.setMaxListeners(0)
      client.publish(topic, payload, options, (error) => {
        client.off('close', gone)
        if (error) reject(error)
        else resolve()
      })
    })
  }
}

function partitionOf(clientId: string): number {
  return createHash('md5').update(clientId).digest().readUInt32BE(0) % 64
}
