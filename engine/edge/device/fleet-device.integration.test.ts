// A device against a broker that stops answering.
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { generate, type Packet, parser } from 'mqtt-packet'
import { afterEach, expect, test } from 'vitest'
import { FleetDevice } from './fleet-device.ts'
import { memoryStorage } from './storage.ts'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** Admits every device and acknowledges everything, until it goes silent. */
async function openBroker() {
  let isSilent = false
  const sockets = new Set<Socket>()
  const passwords: string[] = []
  const topics: string[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    const packets = parser()
    const send = (packet: Packet) => !isSilent && socket.write(generate(packet))
    packets.on('packet', (packet: Packet) => {
      if (packet.cmd === 'connect') passwords.push(String(packet.password))
      if (packet.cmd === 'publish') topics.push(packet.topic)
      if (packet.cmd === 'connect') send({ cmd: 'connack', returnCode: 0, sessionPresent: false })
      if (packet.cmd === 'subscribe')
        send({ cmd: 'suback', messageId: packet.messageId ?? 0, granted: packet.subscriptions.map(() => 1) })
      if (packet.cmd === 'publish') send({ cmd: 'puback', messageId: packet.messageId ?? 0 })
    })
    socket.on('data', (bytes) => packets.parse(bytes)).on('error', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = server.address() as AddressInfo
  let messageId = 0
  return {
    publish(topic: string, body: object) {
      messageId++
      const packet = { cmd: 'publish', qos: 1, dup: false, retain: false, topic, messageId } as const
      for (const socket of sockets) socket.write(generate({ ...packet, payload: JSON.stringify(body) }))
    },
    url: `mqtt://127.0.0.1:${port}`,
    passwords,
    topics,
    goSilent() {
      isSilent = true
    },
  }
}

test('a device is closed within seconds, although the broker has gone silent', async () => {
  const broker = await openBroker()
  const device = new FleetDevice({ url: broker.url, deviceId: 'robot-7', firmwareVersion: '1.0.0' })
  await device.connect()
  broker.goSilent()
  const waiting = device.telemetry({ temperature: 21.5 })
  await device.close()
  await expect(waiting).rejects.toThrow('closed before this was sent')
})

test('a command is carried out while the device takes long to decide about a firmware', async () => {
  const broker = await openBroker()
  const device = new FleetDevice({ url: broker.url, deviceId: 'robot-7', firmwareVersion: '1.0.0' })
  let asked = 0
  device.onFirmware({
    accept: () => {
      asked++
      return new Promise(() => {})
    },
    install: () => expect.unreachable('nobody has agreed'),
    reboot: () => expect.unreachable('nobody has agreed'),
  })
  const stopped = new Promise<void>((resolve) => {
    device.onCommand('stop', () => resolve())
  })
  await device.connect()
  broker.publish('fleet/robot-7/ota', {
    ...{ deployment_id: 'dep_1', attempt: 1, seq: 1, action: 'install', version: '2.0.0' },
    ...{ url: 'http://127.0.0.1:1/image', sha256: 'a'.repeat(64), size_bytes: 1 },
  })
  broker.publish('fleet/robot-7/command', { request_id: 'cmd_1', command: 'stop', data: {} })
  await stopped
  expect(asked).toBe(1)
  await device.close()
})

test('a device whose token ends soon asks for another one, and logs in with it from then on', async () => {
  const broker = await openBroker()
  const storage = memoryStorage()
  const newDevice = (token: string) =>
    new FleetDevice({ url: broker.url, deviceId: 'robot-7', firmwareVersion: '1.0.0', storage, token })
  const device = newDevice('first')
  await device.connect()
  broker.publish('fleet/robot-7/error', { code: 'TOKEN_EXPIRES', topic: 'fleet/robot-7/token/get' })
  await expect.poll(() => broker.topics).toContain('fleet/robot-7/token/get')
  broker.publish('fleet/robot-7/token/accepted', { mqtt_token: 'second' })
  await expect.poll(() => storage.read('token.json')).toBeDefined()
  device.reconnect()
  await expect.poll(() => broker.passwords).toEqual(['first', 'second'])
  await device.close()

  const restarted = newDevice('first')
  await restarted.connect()
  await restarted.close()
  const given = newDevice('third')
  await given.connect()
  await given.close()
  expect(broker.passwords).toEqual(['first', 'second', 'second', 'third'])
})

test('a program is told which of its messages the service could not use', async () => {
  const broker = await openBroker()
  const device = new FleetDevice({ url: broker.url, deviceId: 'robot-7', firmwareVersion: '1.0.0' })
  const failures: unknown[] = []
  device.on('failed', (error) => failures.push(error))
  await device.connect()
  const letter = { code: 'UNKNOWN_TOPIC', topic: 'fleet/robot-7/telemtry', detail: 'there is no such topic' }
  broker.publish('fleet/robot-7/error', letter)
  const text = 'fleet/robot-7/telemtry: UNKNOWN_TOPIC: there is no such topic'
  await expect.poll(() => failures).toEqual([new Error(text)])
  await device.close()
})
