// For tests: the MQTT client by which the stand-in for EMQX publishes what EMQX's rules do, and EMQX's message ids.
import { randomBytes } from 'node:crypto'
import { connectAsync, type IClientPublishOptions, type MqttClient } from 'mqtt'
import type { RuleMessage } from '../../../../../deploy/testing/emqx.ts'

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
