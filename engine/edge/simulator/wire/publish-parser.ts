// Reads PUBLISH packets with one parser for all links. Only whole packets are given to it.
import mqttPacket, { type IPublishPacket } from 'mqtt-packet'

export class PublishParser {
  readonly #parser = mqttPacket.parser({ protocolVersion: 4 })
  #parsed: IPublishPacket | undefined

  constructor() {
    this.#parser.on('packet', (packet) => {
      if (packet.cmd === 'publish') this.#parsed = packet
    })
    this.#parser.on('error', () => {
      this.#parsed = undefined
    })
  }

  /** Undefined if it is none. The payload is a part of the bytes. */
  parse(packet: Buffer): IPublishPacket | undefined {
    this.#parsed = undefined
    this.#parser.parse(packet)
    return this.#parsed
  }
}
