// Parses `FLEET_WEBHOOK_ALLOW`, in which the operator allows webhooks to reach addresses that are not public.
import ipaddr from 'ipaddr.js'
import { isWithin, kindOf, parseAddress } from './address.ts'

interface AllowedTarget {
  /** The host name, if the entry is one. */
  readonly host: string | undefined
  readonly range: readonly [ipaddr.IPv4 | ipaddr.IPv6, number] | undefined
  readonly isSingle: boolean
  readonly port: number | undefined
}

export type AllowList = readonly AllowedTarget[]

/** Entries are hosts, addresses, CIDRs or `host:port`, separated by commas. Returns undefined if an entry is none of
 *  these. */
export function parseAllowList(text: string): AllowList | undefined {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map(parseEntry)
  return entries.every((entry) => entry !== undefined) ? entries : undefined
}

/** True if a connection for this host may be made to this address, which is one that the host's name resolved to. */
export function mayReach(
  list: AllowList,
  target: { readonly host: string; readonly port: number; readonly address: string },
) {
  const address = parseAddress(target.address)
  if (address === undefined) return false
  const kind = kindOf(address)
  if (kind === 'public') return true
  const host = target.host.toLowerCase().replace(/\.$/, '')
  return list.some(({ host: name, range, isSingle, port }) => {
    if (port !== undefined && port !== target.port) return false
    if (name !== undefined) return kind === 'private' && name === host
    return range !== undefined && (kind === 'private' || isSingle) && isWithin(address, range)
  })
}

const NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/

function parseEntry(entry: string): AllowedTarget | undefined {
  if (entry.includes('/')) {
    if (!ipaddr.isValidCIDR(entry)) return undefined
    const [base, bits] = ipaddr.parseCIDR(entry)
    return {
      host: undefined,
      range: [base, bits],
      isSingle: bits === (base.kind() === 'ipv4' ? 32 : 128),
      port: undefined,
    }
  }
  const whole = parseAddress(entry)
  const withPort = whole === undefined ? /^(.+):(\d{1,5})$/.exec(entry) : null
  const port = withPort === null ? undefined : Number(withPort[2])
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined
  const host = (withPort?.[1] ?? entry).toLowerCase().replace(/\.$/, '')
  const address = whole ?? parseAddress(host)
  if (address !== undefined) {
    const bits = address.kind() === 'ipv4' ? 32 : 128
    return { host: undefined, range: [address, bits], isSingle: true, port }
  }
  return NAME.test(host) ? { host, range: undefined, isSingle: false, port } : undefined
}
