// A device against a broker that stops answering.
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { generate, type Packet, parser } from 'mqtt-packet'
import { afterEach, expect, test } from 'vitest'
import { FleetDevice } from './fleet-device.ts'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** Admits every device and acknowledges everything, until it goes silent. */
async function openBroker() {
  let isSilent = false
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    const packets = parser()
    const send = (packet: Packet) => !isSilent && socket.write(generate(packet))
    packets.on('packet', (packet: Packet) => {
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
  return {
    url: `mqtt://127.0.0.1:${port}`,
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
