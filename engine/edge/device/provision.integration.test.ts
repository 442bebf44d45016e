// Asking for the first token, while the service or what stands before it is in trouble.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { type ProvisioningRefusal, provision } from './provision.ts'
import { memoryStorage } from './storage.ts'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** Answers the requests one after the other. */
async function ask(...answers: (readonly [status: number, body: object])[]) {
  const server = createServer((_, response) => {
    const [status, body] = answers.shift() ?? [500, {}]
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  const about = { url: `http://127.0.0.1:${port}`, key: 'key', deviceId: 'robot-7' }
  return await provision({ ...about, storage: memoryStorage(), wait: async () => undefined })
}

const TOKEN = { device_id: 'robot-7', mqtt_token: 'token' }

test('a device asks again while the service fails, even if it is not told when', async () => {
  const failures = [500, 502, 503, 504].map((status) => [status, { title: 'not now' }] as const)
  expect(await ask(...failures, [201, TOKEN])).toBe('token')
})

test('a refusal ends the asking', async () => {
  const refused = ask([403, { code: 'PROVISIONING_KEY_EXPIRED', detail: 'it is over' }], [201, TOKEN])
  await expect(refused).rejects.toMatchObject({
    code: 'PROVISIONING_KEY_EXPIRED',
  } satisfies Partial<ProvisioningRefusal>)
})
