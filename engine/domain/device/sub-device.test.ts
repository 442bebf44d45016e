import { expect, test } from 'vitest'
import { type DeviceId, Millis, parseDeviceId } from '../../../schemas/ids.ts'
import { refuseGateway } from './sub-device.ts'
import { register } from './transition.ts'

const idOf = (text: string): DeviceId => {
  const id = parseDeviceId(text)
  if (id === undefined) throw new Error('a valid id')
  return id
}
const at = (ms: number): Millis => Millis(ms)
const gateway = idOf('gw')
const wish = { kind: 'register', name: 'C', type: 'mqtt_device', parentId: gateway } as const
const child = register(idOf('c'), wish, { kind: 'user', id: 'usr_1' }, at(100)).device

test('a gateway may send for its own sub-devices only', () => {
  const reasons = [
    refuseGateway(child, gateway, at(101)),
    refuseGateway(child, idOf('other'), at(101)),
    refuseGateway({ ...child, parentId: undefined }, gateway, at(101)),
    refuseGateway(undefined, gateway, at(101)),
  ]
  expect(reasons.map((refusal) => refusal?.reason)).toEqual([
    undefined,
    'NOT_ITS_GATEWAY',
    'NOT_ITS_GATEWAY',
    'UNKNOWN_DEVICE',
  ])
})

test('a message from before a decommissioning counts, even if a replay finds the later record', () => {
  const gone = { ...child, status: 'decommissioned', statusSince: at(200) } as const
  const reasonAt = (ms: number) => refuseGateway(gone, gateway, at(ms))?.reason
  expect([101, 200, 201].map(reasonAt)).toEqual([undefined, undefined, 'DEVICE_DECOMMISSIONED'])
})
