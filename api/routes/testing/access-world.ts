// The objects that the requests of the access test refer to.
import { spec } from '../../../engine/domain/ota/testing/deployment.ts'
import type { ProvisioningKey } from '../../../engine/ports/users.ts'
import {
  BroadcastId,
  ChannelId,
  CommandId,
  DeploymentId,
  type DeviceId,
  Millis,
  UserId,
} from '../../../schemas/ids.ts'
import type { MemoryEngine } from '../../testing/memory-engine.ts'
import { NOW } from '../../testing/rest.ts'
import { uploadFirmware } from '../../testing/updating-fleet.ts'
import { webhookChannel } from '../../testing/webhook-channel.ts'
import { png } from './pictures.ts'

export const RULE = {
  name: 'x',
  target: { type: 'group', value: 'a/b' },
  condition: { kind: 'flapping' },
} as const

export const FLOOR_PLAN = {
  ...{ picture: png(1, 1).toString('base64'), x_metric: 'x', y_metric: 'y' },
  ...{ left: 0, bottom: 0, right: 1, top: 1 },
} as const

/** A command, a broadcast, a deployment, an alert rule, a silence, an account, an API key and a provisioning key of another user. */
export async function fill(engine: MemoryEngine, deviceId: DeviceId): Promise<void> {
  const wish = { name: 'go' }
  await engine.submit(
    deviceId,
    { kind: 'command', id: CommandId('cmd_1'), wish },
    { by: { kind: 'user', id: 'usr_else' } },
  )
  const broadcastId = BroadcastId('bc_1')
  await engine.broadcast({ broadcastId, group: 'a/b', command: 'go', by: 'usr_else' })
  await engine.deployments.create({
    id: DeploymentId('dep_1'),
    kind: 'install',
    spec: spec({ target: { type: 'device', value: 'r' } }),
    firmwareId: await uploadFirmware({ engine }, '2.0'),
    members: { kind: 'named', deviceIds: [deviceId] },
    by: 'usr_else',
    mayPassBlocks: true,
  })
  while ((await engine.firmwareOf(deviceId))?.firmware.jobs.length === 0)
    await new Promise((resolve) => setImmediate(resolve))
  await engine.channels({ op: 'create', id: ChannelId('ch_1'), settings: webhookChannel, by: 'usr_else' })
  await engine.channels({ op: 'test', id: ChannelId('ch_1'), name: '1' })
  const about = { name: 'x', role: 'viewer', groups: [], createdAt: Millis(0) } as const
  await engine.alerts.change({ kind: 'create_rule', id: 'rul_1', wish: RULE, by: 'usr_else' })
  const silence = {
    silence_id: 'sil_1',
    matchers: { group: 'a/b' },
    starts_at: NOW,
    ends_at: NOW + 60_000,
    windows: [],
    comment: 'x',
    created_by: 'usr_else',
    created_at: NOW,
    revision: 1,
  }
  await engine.alerts.change({ kind: 'create_silence', silence })
  const id = UserId('usr_else')
  const rest = { disabled: false, lastLoginAt: undefined, tokensValidFrom: Millis(0), passwordHash: '' }
  await engine.users.put({ ...about, ...rest, id, email: 'else@example.com' })
  const life = { expiresAt: undefined, lastUsedAt: undefined }
  await engine.users.addKey({ ...about, ...life, id: UserId('key_1'), secretHash: '', createdBy: id })
  await engine.users.addProvisioningKey(provisioningKey(deviceId, id))
}

/** One device is waiting. It has the id that all requests name, and is not registered with the key. */
function provisioningKey(deviceId: DeviceId, createdBy: UserId): ProvisioningKey {
  const at = Millis(NOW)
  return {
    id: UserId('prk_1'),
    name: 'x',
    secretHash: '',
    deviceType: 'mqtt_device',
    group: undefined,
    idPattern: undefined,
    needsApproval: true,
    devicesMax: 2,
    taken: 1,
    claims: [{ deviceId, status: 'pending', at, ip: '10.0.0.1' }],
    createdAt: at,
    createdBy,
    expiresAt: Millis(NOW + 60_000),
  }
}
