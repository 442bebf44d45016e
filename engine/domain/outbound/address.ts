// Which addresses the service may connect to on behalf of somebody who names a host: public unicast ones. Everything
// else is somebody's inside: this machine, this network, or the cloud that it runs in (A5).
import ipaddr from 'ipaddr.js'

export type AddressKind =
  | 'public'
  /** Not public, and an operator may lift it by range. */
  | 'private'
  /** Not public, and of those that give out credentials of the machine: only lifted one by one. */
  | 'metadata'

type Address = ipaddr.IPv4 | ipaddr.IPv6

const METADATA = ['169.254.0.0/16', '100.100.100.200/32', '192.0.0.192/32', 'fe80::/10', 'fd00:ec2::/32'].map(
  (range) => ipaddr.parseCIDR(range),
)
/** IPv6 ranges with an IPv4 address in them, and the byte at which it begins. */
const EMBEDDING = (
  [
    ['::/96', 12],
    ['::ffff:0:0/96', 12],
    ['::ffff:0:0:0/96', 12],
    ['64:ff9b::/96', 12],
    ['2002::/16', 2],
  ] as const
).map(([range, at]) => ({ range: ipaddr.IPv6.parseCIDR(range), at }))
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/** An address in any of its spellings, an IPv4 address inside an IPv6 one as IPv4. Undefined if it is no address. */
export function parseAddress(text: string): Address | undefined {
  const bare = text.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '')
  if (!ipaddr.isValid(bare)) return undefined
  const address = ipaddr.parse(bare)
  return address instanceof ipaddr.IPv6 ? (embedded(address) ?? address) : address
}

export function kindOf(address: Address): AddressKind {
  if (METADATA.some((range) => isWithin(address, range))) return 'metadata'
  if (address.range() !== 'unicast') return 'private'
  if (address instanceof ipaddr.IPv4) return 'public'
  // ISATAP has an IPv4 address at the end of any prefix.
  const bytes = address.toByteArray()
  const isIsatap =
    (bytes[8] === 0 || bytes[8] === 2) && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe
  if (isIsatap) return kindOf(new ipaddr.IPv4(bytes.slice(12)))
  return address.match(GLOBAL_UNICAST) ? 'public' : 'private'
}

export function isWithin(address: Address, [range, bits]: readonly [Address, number]): boolean {
  if (address instanceof ipaddr.IPv4) return range instanceof ipaddr.IPv4 && address.match(range, bits)
  return range instanceof ipaddr.IPv6 && address.match(range, bits)
}

/** `::` and `::1` are addresses of their own and not IPv4 ones. */
function embedded(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  if (['unspecified', 'loopback'].includes(address.range())) return undefined
  const at = EMBEDDING.find(({ range }) => address.match(range))?.at
  return at === undefined ? undefined : new ipaddr.IPv4(address.toByteArray().slice(at, at + 4))
}
