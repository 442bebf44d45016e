// A device that receives commands on a raw socket, confirms each with a PUBACK and answers `completed`.
import { connect, type Socket } from 'node:net'
import type { DeviceLogin } from './device-socket.ts'
import { DISCONNECT, encodeConnect, encodePublish, encodeSubscribe, PacketReader } from './packets.ts'

export interface ListenerOptions {
  readonly host: string
  readonly port: number
  readonly device: DeviceLogin
  /** Called for each command before it is answered. */
  readonly onCommand: (payload: string) => void
}

const KEEP_ALIVE_SEC = 1200
const PACKET = { connack: 2, publish: 3, suback: 9 } as const
const IDS = 0xffff

export class Listener {
  readonly #options: ListenerOptions
  readonly #socket: Socket
  readonly #reader = new PacketReader()
  readonly #ackTopic: string
  #opened: { resolve(): void; reject(error: Error): void } | undefined
  #sent = 0
  failure: Error | undefined

  /** Resolves after the SUBACK. */
  static open(options: ListenerOptions): Promise<Listener> {
    return new Promise((resolve, reject) => {
      const opened = new Listener(options, { resolve: () => resolve(opened), reject })
    })
  }

  private constructor(options: ListenerOptions, opened: { resolve(): void; reject(error: Error): void }) {
    const { host, port, device } = options
    this.#options = options
    this.#opened = opened
    this.#ackTopic = `fleet/${device.id}/command/ack`
    this.#socket = connect({ host, port, noDelay: true })
    this.#socket.on('data', (bytes: Buffer) => this.#onBytes(bytes))
    this.#socket.on('error', (error) => this.#fail(error))
    this.#socket.on('close', () => this.#fail(new Error(`${device.id}: the broker closed the connection`)))
    const login = { clientId: device.id, password: device.token, keepAliveSec: KEEP_ALIVE_SEC }
    this.#socket.write(encodeConnect(login))
  }

  close(): void {
    this.#opened = undefined
    this.#socket.removeAllListeners('close')
    this.#socket.end(DISCONNECT)
    this.#socket.destroySoon()
  }

  // All commands received in one read are answered in one write.
  #onBytes(bytes: Buffer): void {
    const answers: Buffer[] = []
    for (const { head, body } of this.#reader.read(bytes)) {
      const kind = head >> 4
      if (kind === PACKET.connack) this.#onConnack(body[1] ?? 0xff, answers)
      else if (kind === PACKET.suback) this.#onSuback(body[2] ?? 0x80)
      else if (kind === PACKET.publish) this.#onPublish(body, answers)
    }
    if (answers.length > 0 && this.#socket.writable) this.#socket.write(Buffer.concat(answers))
  }

  #onConnack(code: number, answers: Buffer[]): void {
    const { id } = this.#options.device
    if (code === 0) answers.push(encodeSubscribe(`fleet/${id}/command`, 1))
    else this.#fail(new Error(`${id}: CONNACK ${code}`))
  }

  #onSuback(granted: number): void {
    const opened = this.#opened
    this.#opened = undefined
    if (granted === 1) opened?.resolve()
    else opened?.reject(new Error(`${this.#options.device.id}: SUBACK ${granted}`))
  }

  // The packet has QoS 1, so a packet id comes between topic and payload.
  #onPublish(body: Buffer, answers: Buffer[]): void {
    const at = 2 + body.readUInt16BE(0)
    const payload = body.toString('utf8', at + 2)
    this.#options.onCommand(payload)
    answers.push(Buffer.from([0x40, 2, body[at] ?? 0, body[at + 1] ?? 0]))
    const requestId = /"request_id":"([^"]*)"/.exec(payload)?.[1]
    if (requestId === undefined) return
    const packetId = (this.#sent++ % IDS) + 1
    const ack = Buffer.from(`{"request_id":"${requestId}","status":"completed"}`)
    answers.push(encodePublish({ topic: this.#ackTopic, payload: ack, packetId }))
  }

  #fail(error: Error): void {
    this.failure ??= error
    this.#opened?.reject(error)
    this.#opened = undefined
    this.#socket.destroy()
  }
}
