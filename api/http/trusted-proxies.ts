// The proxies in front of the service whose word counts about where a request comes from (FLEET_TRUSTED_PROXIES).
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv6 } from 'node:net'

export class TrustedProxies {
  readonly #list = new BlockList()

  /** Addresses and networks such as `10.0.0.0/8`, which were checked when the settings were read. */
  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const [address = '', bits] = network.split('/')
      const family = familyOf(address)
      if (bits === undefined) this.#list.addAddress(address, family)
      else this.#list.addSubnet(address, Number(bits), family)
    }
  }

  has(address: string): boolean {
    return isIP(address) !== 0 && this.#list.check(address, familyOf(address))
  }

  /** The address that the nearest sender beyond these proxies has, as `FastifyRequest.ip` is for REST. */
  clientOf({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    // Node joins headers of this name with commas.
    const forwarded = String(headers['x-forwarded-for'] ?? '').split(',')
    let client = socket.remoteAddress ?? ''
    while (this.has(client)) {
      const next = forwarded.pop()?.trim() ?? ''
      if (isIP(next) === 0) break
      client = next
    }
    return client
  }
}

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4')
