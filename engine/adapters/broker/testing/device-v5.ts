// For tests: devices of MQTT 5 on bare sockets.
import { Buffer } from 'node:buffer'
import type { IConnectPacket, ISubscribePacket } from 'mqtt-packet'
import { until } from './fake-host.ts'
import { RawDevice } from './raw-device.ts'

export function connectV5(port: number, id = 'a', more: Partial<IConnectPacket> = {}): Promise<RawDevice> {
  return RawDevice.connect(port, id, { protocolVersion: 5, ...more })
}

/** Resolves to the SUBACK. */
export async function subscribeV5(device: RawDevice, ...subscriptions: ISubscribePacket['subscriptions']) {
  const before = device.all('suback').length
  device.sendPacket({ cmd: 'subscribe', messageId: 900 + before, subscriptions })
  await until(() => device.isClosed || device.all('suback').length > before, 'SUBACK')
  return device.all('suback').at(-1)
}

/** Makes a round trip: everything sent before has been read. */
export async function ping(device: RawDevice): Promise<void> {
  const before = device.all('pingresp').length
  device.send(Buffer.from([0xc0, 0x00]))
  await until(() => device.all('pingresp').length > before, 'PINGRESP')
}
