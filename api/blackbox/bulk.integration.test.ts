// Bulk registration in a whole service: the devices can connect, and an export registers them elsewhere.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Service, ServiceHarness, until } from './testing/service.ts'
import { connectDevice, publish } from './testing/service-clients.ts'
import type { Rest } from './testing/service-rest.ts'

const COUNT = 2_000
const harness = new ServiceHarness()
let service: Service
let admin: Rest

beforeAll(async () => {
  service = await harness.start()
  admin = await service.admin()
})
afterAll(() => harness.close())

interface Result {
  readonly total: number
  readonly created: number
  readonly results: readonly { readonly device_id: string; readonly access_token?: string }[]
}

async function bulk(at: Service, { token }: Rest, type: string, body: string): Promise<Result> {
  const response = await fetch(`${at.httpUrl}/api/v1/devices/bulk`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    body,
  })
  expect(response.status).toBe(200)
  // The answer has the type of its schema; a wrong shape fails the test that reads it.
  return (await response.json()) as Result
}

test('thousands of devices are registered in one call, connect, and can be moved to another service', async () => {
  const rows = Array.from({ length: COUNT }, (_, i) => `d${i},Device ${i},mqtt_device,g/${i % 10},"a;b"`)
  const { total, created, results } = await bulk(
    service,
    admin,
    'text/csv',
    ['device_id,name,type,group,tags', ...rows].join('\r\n'),
  )
  expect([total, created]).toEqual([COUNT, COUNT])
  const last = results.at(-1)
  const client = await connectDevice(service, String(last?.device_id), String(last?.access_token))
  await publish(client, String(last?.device_id), { t: 1 })
  await client.endAsync()
  await until('its entry in the audit', async () => {
    const { text } = await admin.get(`/audit?device_id=${last?.device_id}&action=bulkRegisterDevices`)
    return text.includes(`"row":${COUNT}`)
  })
  const file = await admin.get('/devices/export?format=ndjson')
  expect(file.text.split('\n')).toHaveLength(COUNT + 1)
  const other = await harness.start()
  const again = await bulk(other, await other.admin(), 'application/x-ndjson', file.text)
  expect(again.created).toBe(COUNT)
  const { text } = await (await other.admin()).get('/devices/export?format=ndjson&group=g/3')
  expect(text.split('\n')).toHaveLength(COUNT / 10 + 1)
})
