import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { Millis } from '../../../../schemas/ids.ts'
import { topicOf } from '../../../../schemas/topics.ts'
import { brokerContract } from './contract.ts'
import { type ContractDevice, deviceId } from './contract-world.ts'
import { FakeHost, PASSWORD } from './fake-host.ts'
import { MemoryBroker } from './memory.ts'
import { MemoryDevice } from './memory-device.ts'

brokerContract('memory', async (host, options) => {
  let at = 0
  const broker = new MemoryBroker(options)
  await broker.listen(host)
  return {
    broker,
    pass(ms) {
      at += ms
      broker.sweep(Millis(at))
    },
    connect: async (clientId, { password = PASSWORD, ...more } = {}) => {
      const device = await broker.connect({ clientId, password: Buffer.from(password), ...more })
      return device instanceof MemoryDevice ? toContract(device) : device
    },
  }
})

function toContract(device: MemoryDevice): ContractDevice {
  return {
    publish: async (topic, payload, options) => {
      const isAcked = await device.publish(topic, payload, options)
      // By the contract, the promise of a session that has ended stays open.
      if (!isAcked) await new Promise(() => {})
    },
    subscribe: async (filter, qos) => device.subscribe(filter, qos),
    received: () =>
      device.received.map(({ suffix, payload, qos, retain }) => ({
        topic: topicOf(device.deviceId, suffix),
        text: Buffer.from(payload).toString(),
        qos,
        retain,
      })),
    get acknowledges() {
      return device.acknowledges
    },
    set acknowledges(value) {
      device.acknowledges = value
    },
    isClosed: () => device.isEnded,
    disconnect: () => device.end('disconnect'),
    drop: () => device.end('lost'),
  }
}

test('a session is cut when its token expires', async () => {
  const host = new FakeHost()
  host.admissions.set('a', { expiresAt: Millis(1_000) })
  const broker = new MemoryBroker()
  await broker.listen(host)
  await broker.connect({ clientId: 'a', password: Buffer.from(PASSWORD) })
  broker.sweep(Millis(999))
  expect(broker.isConnected(deviceId('a'))).toBe(true)
  broker.sweep(Millis(1_000))
  expect(host.causes('a')).toEqual(['expired'])
})
