// The rate limits of REST: per user, per user and device in the path, and per address for unknown callers. No caller can
// use up the limit of another.
import type { FastifyReply } from 'fastify'
import { networkOf } from '../../engine/domain/network-of.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { DeviceId } from '../../schemas/ids.ts'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'
import { RateLimit } from './rate-limit.ts'
import type { RateShares } from './rate-shares.ts'

/** Requests per second. 0 means no limit. */
export interface RequestRates {
  readonly perUser: number
  readonly perDevice: number
  readonly perAddress: number
  /** Work of one user, in units of a plain GET. */
  readonly work: number
}

export interface Rates {
  /** Refuses a user who has sent too many requests. Sets the headers that say how much is left. */
  user(id: string, reply: FastifyReply): Refusal | undefined
  device(
    about: { readonly userId: string; readonly deviceId: DeviceId },
    reply: FastifyReply,
  ): Refusal | undefined
  address(ip: string, reply: FastifyReply): Refusal | undefined
  /** Counts requests that must be answered even if the address sends too many others. Their own limit is high. */
  probe(ip: string, reply: FastifyReply): Refusal | undefined
}

/** `shares` is undefined if this is the only node. */
export function createRates(
  { perUser, perDevice, perAddress }: RequestRates,
  { clock, shares }: { readonly clock: Clock; readonly shares: RateShares | undefined },
): Rates {
  const limitOf = (name: string, perSec: number) => {
    const limit = perSec === 0 ? undefined : new RateLimit(name, perSec)
    return (key: string, reply: FastifyReply) =>
      limit && charge({ limit, key, reply, now: clock.ticks(), shares })
  }
  const device = limitOf('device', perDevice)
  const address = limitOf('address', perAddress)
  const probe = limitOf('address', API_LIMITS.probesPerSecMax)
  return {
    user: limitOf('user', perUser),
    device: ({ userId, deviceId }, reply) => device(`${userId} ${deviceId}`, reply),
    address: (ip, reply) => address(networkOf(ip), reply),
    probe: (ip, reply) => probe(`probe ${networkOf(ip)}`, reply),
  }
}

interface Charge {
  readonly limit: RateLimit
  readonly key: string
  readonly reply: FastifyReply
  readonly now: number
  readonly shares: RateShares | undefined
}

/** [draft-ietf-httpapi-ratelimit-headers] Limits that apply together are members of the same list. */
function charge({ limit, key, reply, now, shares }: Charge): Refusal | undefined {
  const aheadMs = limit.take(key, now)
  appendHeader(reply, 'ratelimit-policy', limit.policy)
  appendHeader(reply, 'ratelimit', limit.stateOf(aheadMs))
  if (aheadMs > 0) {
    shares?.report(limit, key, 1)
    return undefined
  }
  return refused('RATE_LIMIT_EXCEEDED', {
    message: `too many requests of one ${limit.name}`,
    limited: limit.name,
    retry_after_sec: Math.max(1, Math.ceil(-aheadMs / 1000)),
  })
}

function appendHeader(reply: FastifyReply, header: string, member: string): void {
  const before = reply.getHeader(header)
  reply.header(header, before === undefined ? member : `${String(before)}, ${member}`)
}
