import { Buffer } from 'node:buffer'
import { describe, test } from 'vitest'
import { Millis } from '../../../../schemas/ids.ts'
import { CONNACK, type ConnackCode } from '../../../ports/broker.ts'
import { brokerContract } from '../testing/contract.ts'
import type { BrokerUnderTest, ContractDevice, StartBroker } from '../testing/contract-world.ts'
import { EMQX_HOME, EMQX_NEEDED, RealEmqx } from '../testing/emqx/real-emqx.ts'
import { MOSQUITTO } from '../testing/emqx/stand-in.ts'
import { PASSWORD, until } from '../testing/fake-host.ts'
import { MqttStage } from '../testing/outside-broker.ts'
import { RawDevice } from '../testing/raw-device.ts'
import { EmbeddedBroker } from './embedded.ts'

const embedded =
  (protocolVersion: 4 | 5): StartBroker =>
  async (host, options = {}) => {
    let at = 0
    const clock = { now: () => Millis(at), ticks: () => at }
    const broker = new EmbeddedBroker({ host: '127.0.0.1', port: 0, clock, ...options })
    const [{ port }] = await broker.listen(host)
    return {
      broker,
      pass(ms) {
        at += ms
        broker.sweep()
      },
      connect: connectTo(port, protocolVersion),
    }
  }

brokerContract('embedded', embedded(4))
brokerContract('embedded, with devices of MQTT 5', embedded(5), { isV5: true })

if (MOSQUITTO !== undefined)
  brokerContract(
    'EMQX outside',
    async (host) => {
      const stage = await MqttStage.open({ authenticate: ({ password }) => password === PASSWORD })
      const broker = await stage.broker(host)
      return {
        broker,
        pass() {},
        release: () => stage.close(),
        connect: connectTo(stage.emqx.devicePort),
      }
    },
    { isOutside: true },
  )

if (EMQX_HOME === undefined)
  describe('the broker contract: EMQX itself', () => {
    test.skip(EMQX_NEEDED, () => {})
  })
else
  brokerContract(
    'EMQX itself',
    async (host) => {
      const emqx = await RealEmqx.start()
      const stage = MqttStage.on(emqx)
      const broker = await stage.broker(host)
      const connect = connectTo(emqx.devicePort)
      return {
        broker,
        pass() {},
        release: () => stage.close(),
        connect: async (clientId, { password = PASSWORD, ...more } = {}) =>
          connect(clientId, {
            ...more,
            password: password === PASSWORD ? await emqx.tokenOf(clientId) : password,
          }),
      }
    },
    { isOutside: true },
  )

const CODES: ReadonlyMap<number | undefined, ConnackCode> = new Map([
  [0x84, CONNACK.protocol],
  [0x85, CONNACK.identifier],
  [0x86, CONNACK.credentials],
  [0x87, CONNACK.unauthorized],
  [0x88, CONNACK.unavailable],
])

function connectTo(port: number, protocolVersion: 4 | 5 = 4): BrokerUnderTest['connect'] {
  return async (clientId, { password = PASSWORD, clean = true, will } = {}) => {
    const device = await RawDevice.connect(port, clientId, {
      clean,
      protocolVersion,
      ...(protocolVersion === 5 && { properties: { sessionExpiryInterval: clean ? 0 : 0xffff_ffff } }),
      password: Buffer.from(password),
      ...(will && { will: { ...will, payload: Buffer.from(will.payload) } }),
    })
    const { returnCode, reasonCode } = device.connack ?? {}
    const code = protocolVersion === 5 ? (CODES.get(reasonCode) ?? reasonCode ?? -1) : (returnCode ?? -1)
    // The broker sends no other codes.
    return code === 0 ? toContract(device) : (code as ConnackCode)
  }
}

function toContract(device: RawDevice): ContractDevice {
  const contract: ContractDevice = {
    acknowledges: true,
    publish: async (topic, payload, { qos = 1, retain = false } = {}) => {
      const id = device.publish(topic, payload, { qos, retain })
      if (qos === 0) return
      const answer = qos === 1 ? 'puback' : 'pubrec'
      // A session that has ended answers no more, and the test that ended it does not wait.
      const answered = (cmd: 'puback' | 'pubrec' | 'pubcomp') => () =>
        device.isClosed || device.all(cmd).some(({ messageId }) => messageId === id)
      await until(answered(answer), answer)
      if (qos === 1 || device.isClosed) return
      device.sendPacket({ cmd: 'pubrel', messageId: id })
      await until(answered('pubcomp'), 'pubcomp')
    },
    subscribe: async (filter, qos = 1) => (await device.subscribe({ topic: filter, qos }))?.[0] === qos,
    received: () => device.received(),
    isClosed: () => device.isClosed,
    disconnect: () => device.sendPacket({ cmd: 'disconnect' }),
    drop: () => device.drop(),
  }
  device.onPacket = (packet) => {
    if (!contract.acknowledges) return
    if (packet.cmd === 'publish' && packet.qos === 1)
      device.sendPacket({ cmd: 'puback', messageId: packet.messageId ?? 0 })
    if (packet.cmd === 'publish' && packet.qos === 2)
      device.sendPacket({ cmd: 'pubrec', messageId: packet.messageId ?? 0 })
    if (packet.cmd === 'pubrel') device.sendPacket({ cmd: 'pubcomp', messageId: packet.messageId ?? 0 })
  }
  // Packets that came with the CONNACK.
  for (const packet of device.packets) device.onPacket(packet)
  return contract
}
