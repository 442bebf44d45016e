/** What counts as one caller: an IPv4 address, or a whole IPv6 /64, which is what one subscriber has. */
export function networkOf(ip: string): string {
  if (!ip.includes(':')) return ip
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = ip.split('::', 2)
  const levels = head === '' ? [] : head.split(':')
  const behind = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - levels.length - behind.length)
  return [...levels, ...Array<string>(zeros).fill('0'), ...behind].slice(0, 4).join(':')
}
