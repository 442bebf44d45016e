// Commands that wait for something, while the service is away for a moment.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { openCliHarness } from './testing/cli.ts'

const cli = openCliHarness()
const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

const DEPLOYMENT = {
  deployment_id: 'dep_1',
  firmware_version: '2.1.0',
  device_type: 'mqtt_device',
  status_reason: null,
  total: 1,
  progress: { percent: 0, succeeded: 0, failed: 0, in_progress: 1 },
  stages: [],
  held: {},
  skipped: {},
  deadline_at: '2026-11-22T10:00:00.000Z',
}

/** Answers the requests one after the other; `undefined` breaks the connection. Further ones get the last answer. */
async function serve(...answers: (object | undefined)[]) {
  const server = createServer((request, response) => {
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    if (answer === undefined) request.socket.destroy()
    else response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  return { FLEET_CLI_URL: `http://127.0.0.1:${port}`, FLEET_CLI_TOKEN: 'token' }
}

test('a rollout is followed to its end while the service is away for longer than one request is tried', async () => {
  const away = Array.from({ length: 5 }, () => undefined)
  const running = { ...DEPLOYMENT, status: 'in_progress' }
  const env = await serve(running, ...away, running, { ...DEPLOYMENT, status: 'completed' })
  const { code, stdout, stderr } = await cli.runHere(['ota', 'status', 'dep_1', '--watch'], { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^127.*; asking again\n$/) })
  expect(stdout).toContain('status\tcompleted\n')
})

test('a command that is waited for is asked about again, until the time to wait is over', async () => {
  const env = await serve(
    { command_id: 'cmd_1', device_id: 'w1', command: 'dock', status: 'pending' },
    undefined,
  )
  const { code } = await cli.runHere(['cmd', 'send', 'w1', 'dock', '--wait', '1'], { env })
  expect(code).toBe(6)
})
