// The host names of this service. A web page can make its own name resolve to this machine (DNS rebinding) and would then
// count as the same origin, but it cannot hide that name in the `Host` header.
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { isLoopbackAddress } from '../loopback.ts'

export interface KnownHosts {
  /** False for a foreign name. A request without the header does not come from a browser. */
  has(header: string | undefined): boolean
}

export interface KnownHostsOptions {
  /** FLEET_HOST. */
  readonly host: string
  /** FLEET_PUBLIC_URL and FLEET_OTA_PUBLIC_URL. */
  readonly publicUrls: readonly string[]
  readonly addresses?: () => readonly string[]
}

export function createKnownHosts({
  host,
  publicUrls,
  addresses = ownAddresses,
}: KnownHostsOptions): KnownHosts {
  const names = new Set([host.toLowerCase(), ...publicUrls.map((url) => hostOf(new URL(url).host))])
  // Most requests have the same header as the one before.
  let latest: string | undefined
  return {
    has(header) {
      if (header === undefined || header === latest) return true
      const name = hostOf(header)
      if (isLoopbackAddress(name) || names.has(name)) {
        latest = header
        return true
      }
      // Addresses may change while the service runs. This lookup is rare and cheap.
      return isIP(name) !== 0 && addresses().includes(name)
    },
  }
}

/** The name in a `Host` header in lower case, its port and the brackets of an IPv6 address removed. */
export function hostOf(header: string): string {
  const name = header.startsWith('[') ? header.slice(1, header.indexOf(']')) : header.split(':', 1)[0]
  return (name ?? '').toLowerCase()
}

function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((found = []) => found.map(({ address }) => address))
}
