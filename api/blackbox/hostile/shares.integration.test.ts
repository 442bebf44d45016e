// Users who use up what they can, each beside others who must not notice.
import { afterAll, expect, test } from 'vitest'
import { ServiceHarness } from '../testing/service.ts'
import { registerDevice } from '../testing/service-rest.ts'
import { repeat } from './testing/honest.ts'

const harness = new ServiceHarness()
afterAll(() => harness.close())

test('a viewer who reads a device as fast as possible keeps nobody from commanding it', async () => {
  const service = await harness.start({ FLEET_DEVICE_REQUEST_RATE: '20', FLEET_USER_REQUEST_RATE: '1000' })
  const admin = await service.admin()
  await registerDevice(admin, 'r1')
  const viewer = { email: 'vic@example.com', password: 'correct horse', name: 'Vic', role: 'viewer' }
  expect((await admin.post('/auth/register', viewer)).status).toBe(201)
  const { body } = await service.nobody.post('/auth/login', viewer)
  const reader = service.nobody.as(String(body['access_token']))
  const stop = new AbortController()
  let refused = 0
  const attack = repeat(stop.signal, async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => reader.get('/shadows/r1')))
    refused += answers.filter(({ status }) => status === 429).length
  })
  const statuses: number[] = []
  // More than the rate allows of other commands.
  for (let i = 0; i < 50; i++)
    statuses.push(
      (await admin.post('/commands/r1', { command: 'emergency_stop', priority: 'critical' })).status,
    )
  statuses.push((await admin.post('/commands/r1', { command: 'go' })).status)
  stop.abort()
  await attack
  expect(refused).toBeGreaterThan(0)
  expect(new Set(statuses)).toEqual(new Set([202]))
})
