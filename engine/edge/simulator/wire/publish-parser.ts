// Parses PUBLISH packets with one parser for all links. It must be given whole packets only.
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

  /** Returns undefined if the packet is not a PUBLISH. The payload is a view of the given bytes. */
  parse(packet: Buffer): IPublishPacket | undefined {
    this.#parsed = undefined
    this.#parser.parse(packet)
    return this.#parsed
  }
}
