// Nodes of the ingress share the lanes by a table of owners of their own.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../limits.ts'
import { Ownership } from '../../../runtime/ownership/ownership.ts'
import { realSchedule } from '../../../runtime/schedule.ts'
import { MemoryOwners, MemoryOwnership } from '../../ownership/testing/memory.ts'
import { MOSQUITTO } from '../testing/emqx/stand-in.ts'
import { FakeHost, until } from '../testing/fake-host.ts'
import { MqttStage } from '../testing/outside-broker.ts'
import type { MqttBroker } from './mqtt.ts'

const DEVICES = Array.from({ length: 40 }, (_, n) => `d${n}`)

interface IngressNode {
  readonly host: FakeHost
  readonly broker: MqttBroker
  readonly ownership: Ownership
}

describe.skipIf(MOSQUITTO === undefined)('lanes', () => {
  let stage: MqttStage
  const owners = new MemoryOwners()
  const nodes: IngressNode[] = []

  beforeEach(async () => {
    stage = await MqttStage.open()
  })
  afterEach(async () => {
    for (const { ownership } of nodes.splice(0)) await ownership.close()
    await stage.close()
  })

  async function open(name: string): Promise<IngressNode> {
    const host = new FakeHost()
    const broker = await stage.broker(host, [])
    const ownership = new Ownership({
      table: new MemoryOwnership(owners),
      clock: { ticks: () => performance.now() },
      schedule: realSchedule,
      count: LIMITS.lanes,
      newNode: () => ({ id: `${name}-${nodes.length}`, address: name }),
      host: {
        gained: (lanes) => broker.gained(lanes),
        lost: (lanes) => broker.lost(lanes),
        handOver: (lanes) => broker.handOver(lanes),
        failed: (error) => expect.fail(String(error)),
      },
    })
    ownership.start()
    const node = { host, broker, ownership }
    nodes.push(node)
    return node
  }

  const lanesOf = ({ broker }: IngressNode) => broker.counts().outside?.lanesOpen
  const said = (all: readonly IngressNode[]) => all.flatMap(({ host }) => host.texts())

  test('lanes move to a node that comes and from one that stops, and nothing is lost or comes twice unmarked', async () => {
    const a = await open('a')
    await until(() => lanesOf(a) === LIMITS.lanes, 'all lanes')
    const devices = await Promise.all(DEVICES.map((name) => stage.device(name)))
    let isOver = false
    let count = 0
    const publishing = devices.map(async (device, index) => {
      for (let n = 0; !isOver; n++) {
        await device.publishAsync(`fleet/${DEVICES[index]}/telemetry`, `${DEVICES[index]} ${n}`, { qos: 1 })
        count++
      }
    })
    const b = await open('b')
    await until(() => lanesOf(a) === 8 && lanesOf(b) === 8, 'half of them each', 60_000)
    await until(() => b.host.texts().length > 500, 'b to be at work', 60_000)
    await a.ownership.close()
    nodes.splice(nodes.indexOf(a), 1)
    await until(() => lanesOf(b) === LIMITS.lanes, 'all lanes at b', 60_000)
    isOver = true
    await Promise.all(publishing)
    await until(() => new Set(said([a, b])).size === count, 'all of it', 60_000)
    // A node on a busy machine may lose its lease. Then messages come twice, and are marked.
    const unmarked = [a, b].flatMap(({ host }) =>
      host.texts().filter((_, index) => host.dups[index] === false),
    )
    expect(new Set(unmarked).size).toBe(unmarked.length)
    for (const name of DEVICES) {
      const own = [...a.host.texts(name), ...b.host.texts(name)].map((text) => Number(text.split(' ')[1]))
      const once = own.filter((n, index) => own.indexOf(n) === index)
      expect(once).toEqual(once.map((_, n) => n))
    }
    expect(stage.warnings).toEqual([])
  })
})
