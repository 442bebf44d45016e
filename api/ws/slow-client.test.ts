import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RawClient } from './testing/raw-client.ts'
import { openSocketService, type SocketFleet, type SocketService } from './testing/socket-service.ts'

const KIB = 1024
const DEVICES = 20
const PADDING = 'x'.repeat(20 * KIB)

let service: SocketService
let fleet: SocketFleet

beforeEach(async () => {
  service = await openSocketService({ heldBytesPerSocketMax: 4 * KIB * KIB, socketFrozenMs: 15_000 })
  fleet = service.fleet
  fleet.addUser('ada')
  for (let i = 0; i < DEVICES; i++) await fleet.addDevice(`dev-${i}`)
})
afterEach(() => service.close())

async function listen(filter?: object): Promise<RawClient> {
  const client = await service.dial({ path: '/ws?token=ada' })
  client.send({
    type: 'subscribe',
    id: 's1',
    channel: 'telemetry',
    ...(filter === undefined ? {} : { filter }),
  })
  await client.next('subscribed')
  return client
}

/** Sends one report of every device, and gives the sockets time to make progress. */
async function round(n: number, padding = PADDING): Promise<void> {
  await Promise.all(Array.from({ length: DEVICES }, (_, i) => fleet.report(`dev-${i}`, { n, padding })))
}

/** Sends reports until nothing more gets through, because the kernel's buffers are full. Returns the last number. */
async function fill(sent: () => number): Promise<number> {
  let quiet = 0
  for (let n = 1; n <= 1_000; n++) {
    const before = sent()
    await round(n)
    quiet = sent() === before ? quiet + 1 : 0
    if (quiet === 10) return n
  }
  throw new Error(`never: ${JSON.stringify(service.sockets.counts())}`)
}

const droppedOf = ({ frames }: RawClient) =>
  frames.reduce((sum, { type, dropped }) => sum + (type === 'resync' ? Number(dropped) : 0), 0)
const numberOf = (frame: unknown) => (frame as { data?: { data: { n: number } } }).data?.data.n

describe('a client that stops reading', () => {
  test('a client that stops reading delays nobody, takes bounded memory, and catches up with a resync', async () => {
    const frozen = await listen()
    const healthy = await listen({ metrics: ['n'] })
    frozen.socket.pause()
    // The healthy client gets every report, so the rest was sent to the stalled one.
    let rounds = 0
    const last = await fill(() => service.sockets.counts().sent - DEVICES * rounds++)
    await healthy.until(() => healthy.frames.filter(({ type }) => type === 'event').length === last * DEVICES)
    // One report is held for each device, however many were sent.
    expect(service.sockets.counts().heldBytes).toBeLessThan(DEVICES * (PADDING.length + KIB))
    for (let n = 0; n < 50; n++) await round(last)
    expect(service.sockets.counts().heldBytes).toBeLessThan(DEVICES * (PADDING.length + KIB))

    frozen.socket.resume()
    const eventsOf = () => frozen.frames.filter(({ type }) => type === 'event')
    const told = (last + 50) * DEVICES
    await frozen.until(() => eventsOf().length + droppedOf(frozen) === told, 'every report, sent or counted')
    expect(frozen.frames.at(-1)).toEqual({ type: 'resync', id: 's1', dropped: expect.any(Number) })
    const events = eventsOf()
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
    for (let i = 0; i < DEVICES; i++) {
      const own = events.filter((event) => event['device_id'] === `dev-${i}`)
      expect(numberOf(own.at(-1))).toBe(last)
    }
    expect(service.sockets.counts().heldBytes).toBe(0)

    await round(last + 1)
    await frozen.until(() => numberOf(frozen.frames.at(-1)) === last + 1)
  })

  test('beyond the budget, the events that a client misses are only counted', async () => {
    const frozen = await listen()
    frozen.socket.pause()
    await fill(() => service.sockets.counts().sent)
    for (let i = 0; i < 300; i++) {
      await fleet.addDevice(`more-${i}`)
      await fleet.report(`more-${i}`, { padding: PADDING })
    }
    const { heldBytes, dropped } = service.sockets.counts()
    expect(heldBytes).toBeLessThanOrEqual(4 * KIB * KIB)
    expect(dropped).toBeGreaterThan(50)
    frozen.socket.resume()
    await frozen.until(() => droppedOf(frozen) >= dropped, 'the count of what it missed')
  })

  test('a client that resumes reading gets its answers first', async () => {
    const frozen = await listen()
    frozen.socket.pause()
    await fill(() => service.sockets.counts().sent)
    const { sent } = service.sockets.counts()
    frozen.send({ type: 'ping' })
    frozen.send({ type: 'unsubscribe', id: 's1' })
    await expect.poll(() => service.sockets.counts().subscriptions).toBe(0)
    expect(service.sockets.counts().sent).toBe(sent)
    frozen.socket.resume()
    await frozen.next('unsubscribed')
    expect(frozen.frames.slice(-2).map(({ type }) => type)).toEqual(['pong', 'unsubscribed'])
  })

  test('a client that does not read for too long is disconnected', async () => {
    const frozen = await listen()
    frozen.socket.pause()
    await fill(() => service.sockets.counts().sent)
    fleet.time.at += 15_000
    expect(service.sockets.counts()).toMatchObject({ connections: 0, heldBytes: 0, closed: { 1013: 1 } })
    // A client that cannot take the close frame is disconnected after the linger time.
    fleet.time.at += 2_000
    frozen.socket.resume()
    await frozen.until(() => frozen.socket.destroyed)
    expect(frozen.closed).toBeUndefined()
  })
})
