import { afterEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../limits.ts'
import { CONNACK } from '../../../ports/broker.ts'
import { openStage, type Stage } from '../testing/embedded-broker.ts'
import { until } from '../testing/fake-host.ts'
import { RawDevice } from '../testing/raw-device.ts'
import { PendingConnections } from './pending-connections.ts'

const PER_ADDRESS = 3

class Peer {
  isClosed = false
  readonly localPort = 1883
  readonly remoteAddress: string
  readonly remotePort: number
  constructor(remoteAddress: string, remotePort: number) {
    this.remoteAddress = remoteAddress
    this.remotePort = remotePort
  }
  destroy(): void {
    this.isClosed = true
  }
}

function openRoom() {
  let now = 0
  let port = 0
  const room = new PendingConnections({ max: 8, perAddressMax: PER_ADDRESS, ticks: () => now })
  const come = (address: string) => {
    const peer = new Peer(address, ++port)
    return { peer, isIn: room.add(peer) }
  }
  return { room, come, pass: (ms: number) => (now += ms) }
}

describe('connections that wait to be let in', () => {
  test('one address has its share and no more, and another one is not concerned', () => {
    const { come } = openRoom()
    const own = Array.from({ length: PER_ADDRESS + 1 }, () => come('2001:db8::1').isIn)
    expect(own).toEqual([true, true, true, false])
    expect(come('2001:db8::ffff').isIn).toBe(false)
    expect(come('2001:db8:0:1::1').isIn).toBe(true)
  })

  test('who has waited long gives way to who comes, the oldest first', () => {
    const { come, pass } = openRoom()
    const first = come('192.0.2.1').peer
    pass(1)
    const second = come('192.0.2.1').peer
    come('192.0.2.1')
    pass(LIMITS.handshakeGivesWayMs - 1)
    expect([come('192.0.2.1').isIn, come('192.0.2.1').isIn]).toEqual([true, false])
    expect([first.isClosed, second.isClosed]).toEqual([true, false])
  })

  test('who was let in, or has gone, makes room, and counts once', () => {
    const { room, come } = openRoom()
    const peers = Array.from({ length: PER_ADDRESS }, () => come('192.0.2.1').peer)
    const [peer] = peers
    if (peer === undefined) throw new Error('nobody waits')
    room.remove(peer)
    room.remove(peer)
    expect([come('192.0.2.1').isIn, come('192.0.2.1').isIn]).toEqual([true, false])
  })

  test('a full room loses somebody of the address that has the most', () => {
    const { come, pass } = openRoom()
    for (const address of ['1', '1', '1', '2', '2', '3', '3', '4']) come(`192.0.2.${address}`)
    expect(come('192.0.2.5').isIn).toBe(false)
    pass(LIMITS.handshakeGivesWayMs)
    expect(come('192.0.2.5').isIn).toBe(true)
    expect(come('192.0.2.1').isIn).toBe(true)
  })
})

describe('silent connections of one address to the broker', () => {
  let stage: Stage | undefined
  afterEach(() => stage?.broker.close())

  test('are closed beyond its share, and keep no device of that address out', async () => {
    stage = await openStage({ handshakesPerAddressMax: PER_ADDRESS })
    const { port, pass } = stage
    // Who was let in takes no share.
    for (const id of ['a', 'b', 'c', 'd'])
      expect((await RawDevice.connect(port, id)).connack?.returnCode).toBe(CONNACK.accepted)
    const silent: RawDevice[] = []
    for (let i = 0; i < PER_ADDRESS; i++) silent.push(await RawDevice.dial(port))
    const refused = await RawDevice.dial(port)
    await refused.closed()
    expect(silent.map(({ isClosed }) => isClosed)).toEqual([false, false, false])

    pass(LIMITS.handshakeGivesWayMs)
    expect((await RawDevice.connect(port, 'e')).connack?.returnCode).toBe(CONNACK.accepted)
    await until(() => silent[0]?.isClosed === true, 'the oldest to give way')
    expect(silent.map(({ isClosed }) => isClosed)).toEqual([true, false, false])
  })

  test('take at most a quarter of the files that the process may have open', async () => {
    stage = await openStage({ openFilesMax: 8 })
    await Promise.all([RawDevice.dial(stage.port), RawDevice.dial(stage.port)])
    const third = await RawDevice.dial(stage.port)
    await third.closed()
  })
})
