import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readBridgeConfig } from './bridge-config.ts'

test('the example file of the ROS 2 bridge is valid', () => {
  const text = readFileSync(new URL('../../examples/ros/bridge.yaml', import.meta.url), 'utf8')
  const read = readBridgeConfig(text, { FLEET_DEVICE_TOKEN: 'secret' })
  expect(read).toMatchObject({ kind: 'read', config: { deviceId: 'robot-7', mqtt: { token: 'secret' } } })
})
