// A real service with some data, whose answers are compared with the declarations of the operations.
import { OPERATIONS } from '../../../schemas/operations/all.ts'
import { type ServiceHarness, until } from '../../blackbox/testing/service.ts'
import { connectDevice } from '../../blackbox/testing/service-clients.ts'
import { registerDevice } from '../../blackbox/testing/service-rest.ts'
import { createConformance } from '../../testing/conformance.ts'
import type { TriedRequest } from './requests.ts'
import type { KnownValues } from './valid-values.ts'

const ANSWER_MS = 20_000

export const IN_SERVICE: KnownValues = {
  device_id: ['r'],
  code: ['not-found'],
  group: ['a'],
  type: ['mqtt_device'],
  metric: ['m'],
  wait: [0],
  interval: ['1m'],
  tz: ['Europe/Berlin'],
}

export async function openServiceWorld(harness: ServiceHarness) {
  const service = await harness.start()
  const conforms = createConformance(Object.values(OPERATIONS))
  const admin = await service.admin()
  const device = await connectDevice(service, 'r', await registerDevice(admin, 'r', { group: 'a/b' }))
  await registerDevice(admin, 'gw', { type: 'gateway' })
  await device.publishAsync('fleet/r/telemetry', JSON.stringify({ m: 1 }), { qos: 1 })
  await device.publishAsync('fleet/r/log', JSON.stringify({ level: 'info', message: 'hello' }), { qos: 1 })
  await admin.call('PUT', '/shadows/r/desired', { a: 1 })
  // An API key remains valid when requests change users.
  const { body } = await admin.post('/api-keys', { name: 'contract', role: 'admin' })
  const token = String(body['api_key'])
  for (const list of ['/devices/r/events', '/devices/r/logs', '/audit'])
    await until(`${list} to be there`, async () => Object((await admin.get(list)).body['data'])['length'] > 0)

  async function send({ method, url, headers, body, hasToken }: TriedRequest) {
    // Other tests cover waiting.
    const { prefer: _, ...others } = headers
    const response = await fetch(`${service.httpUrl}${url.replace(/\bwait=\d+/, 'wait=0')}`, {
      method,
      headers: { ...(hasToken ? { authorization: `Bearer ${token}` } : {}), ...others },
      ...(body === undefined || method === 'GET' ? {} : { body }),
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    const text = await response.text()
    const isJson = /^application\/(problem\+)?json/.test(response.headers.get('content-type') ?? '')
    const told = {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: isJson && text !== '' ? JSON.parse(text) : text,
      text,
    }
    conforms(method, url, told)
    return told
  }
  return { send, rest: service.nobody.as(token) }
}
