// A small fleet with something on every page of the dashboard: what is empty shows none of its texts.
import { type Service, until } from '../../blackbox/testing/service.ts'
import { connectDevice, publish } from '../../blackbox/testing/service-clients.ts'
import { type Rest, registerDevice } from '../../blackbox/testing/service-rest.ts'

export interface FurnishedFleet {
  readonly deviceId: string
  /** Pages of single things, whose ids the service gave. */
  readonly paths: readonly string[]
}

const RULE = {
  name: 'Zu heiß',
  severity: 'critical',
  target: { type: 'all' },
  condition: { kind: 'threshold', metric: 'temperature', op: '>', value: 80 },
}

export async function furnish(service: Service, admin: Rest): Promise<FurnishedFleet> {
  const deviceId = 'pumpe-1'
  const token = await registerDevice(admin, deviceId, { group: 'werk/halle', tags: ['rot'] })
  const rule = await admin.post('/alerts/rules', RULE)
  const device = await connectDevice(service, deviceId, token)
  await publish(device, deviceId, { temperature: 95, battery: { percent: 40 } })
  await publish(device, deviceId, { level: 'warn', message: 'Das Rad rutscht', fields: { rad: 2 } }, 'log')
  await publish(device, deviceId, { takt: 5 }, 'shadow/reported')
  // It is kept as a dead letter.
  await publish(device, deviceId, '{"status":', 'status')
  await device.endAsync()
  await admin.call('PUT', `/shadows/${deviceId}/desired`, { takt: 7 })
  await admin.post(`/commands/${deviceId}`, { command: 'blinken', data: { mal: 3 } })
  const sent = await admin.post('/commands/$broadcast', {
    target: { type: 'tag', value: 'rot' },
    command: 'blinken',
  })
  await admin.post('/api-keys', { name: 'Auswertung', role: 'viewer' })
  await admin.post('/auth/provisioning-keys', { name: 'Linie 3', type: 'mqtt_device', limit: 20 })
  const form = new FormData()
  form.set('version', '2.1.0')
  form.set('device_type', 'mqtt_device')
  form.set('file', new Blob(['firmware']), 'pumpe.bin')
  const uploaded = await fetch(`${service.httpUrl}/api/v1/ota/firmware`, {
    method: 'POST',
    headers: { authorization: `Bearer ${admin.token}` },
    body: form,
  })
  const { firmware_id } = (await uploaded.json()) as { readonly firmware_id: string }
  const rollout = await admin.post('/ota/deployments', {
    firmware_id,
    target: { type: 'device', value: deviceId },
  })
  const alertId = await until('the alert fires', async () => {
    const [alert] = (await admin.get('/alerts')).body['data'] as { readonly alert_id?: string }[]
    return alert?.alert_id
  })
  return {
    deviceId,
    paths: [
      `/commands/broadcasts/${idIn(sent.body, 'broadcast_id')}`,
      `/rollouts/${idIn(rollout.body, 'deployment_id')}`,
      `/alerts/rules/${idIn(rule.body, 'rule_id')}`,
      `/alerts/${alertId}`,
    ],
  }
}

function idIn(body: Readonly<Record<string, unknown>>, name: string): string {
  const id = body[name]
  if (typeof id !== 'string') throw new Error(`there is no ${name}: ${JSON.stringify(body)}`)
  return id
}
