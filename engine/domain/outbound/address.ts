// Decides which addresses the service may connect to when a user names a host. Only public unicast addresses are allowed,
// because all others belong to this machine, to this network, or to the cloud that it runs in (A5).
import ipaddr from 'ipaddr.js'

export type AddressKind =
  | 'public'
  /** Not public. An operator may allow such addresses by range. */
  | 'private'
  /** Addresses at which a cloud gives out credentials of the machine. An operator may only allow single ones. */
  | 'metadata'

type Address = ipaddr.IPv4 | ipaddr.IPv6

const METADATA = ['169.254.0.0/16', '100.100.100.200/32', '192.0.0.192/32', 'fe80::/10', 'fd00:ec2::/32'].map(
  (range) => ipaddr.parseCIDR(range),
)
/** IPv6 ranges whose addresses contain an IPv4 address, with the byte at which it begins. */
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

/** Accepts every spelling of an address. Returns an IPv4 address that is contained in an IPv6 one as IPv4, and undefined
 *  if the text is not an address. */
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
  // An ISATAP address has an IPv4 address at its end and may have any prefix.
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

/** `::` and `::1` are in the range `::/96` but contain no IPv4 address. */
function embedded(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  if (['unspecified', 'loopback'].includes(address.range())) return undefined
  const at = EMBEDDING.find(({ range }) => address.match(range))?.at
  return at === undefined ? undefined : new ipaddr.IPv4(address.toByteArray().slice(at, at + 4))
}
