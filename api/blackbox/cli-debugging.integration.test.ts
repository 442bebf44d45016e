// Finding out on the command line why a device does not get through.
import { connect, createServer, type Socket } from 'node:net'
import { afterAll, expect } from 'vitest'
import { openCliHarness } from '../cli/testing/cli.ts'
import { type Service, until } from './testing/service.ts'
import { connectDevice, publish } from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

const cli = openCliHarness()
let service: Service
let admin: Rest
let env: Record<string, string>
test.beforeAll(async ({ service: given }) => {
  service = given
  admin = await service.admin()
  env = { FLEET_CLI_URL: service.httpUrl, FLEET_CLI_TOKEN: String(admin.token) }
})
afterAll(async () => {
  await cli.close()
})

test('what a device did wrong is found on the command line', async () => {
  const client = await connectDevice(service, 'w1', await registerDevice(admin, 'w1'))
  await publish(client, 'w1', 'no JSON at all', 'status')
  const letter = await until('the dead letter', async () => {
    const { stdout } = await cli.run(['dead-letters', '--device', 'w1', '--reason', 'MALFORMED_STATUS'], {
      env,
    })
    return stdout !== '' && stdout
  })
  expect(letter).toMatch(/^20\S+\tw1\tfleet\/w1\/status\t\S+\t[^\t]+\t/)
  await client.endAsync(true)
  await connectDevice(service, 'w1', 'a wrong token', { reconnectPeriod: 0 }).catch(() => undefined)
  const refused = await until('the refusal', async () => {
    const { stdout } = await cli.runHere(['audit', '--device', 'w1', '--action', 'mqtt.connect'], { env })
    return stdout !== '' && stdout
  })
  expect(refused).toMatch(/devices\/w1\trefused\tMQTT_CONNECTION_REFUSED\t\S+/)
  const { stdout: checked } = await cli.runHere(['doctor'], { env })
  expect(checked).toMatch(/^connects\twarn\t\d+ connects were refused in the last hour/m)
  expect((await cli.runHere(['whoami'], { env })).stdout).toMatch(
    new RegExp(`^url\t${service.httpUrl}\n[^]*role\tadmin\n`),
  )
})

test('one command shows the state of a device, what it was refused, and what it is to do', async () => {
  const token = await registerDevice(admin, 'w2')
  await connectDevice(service, 'w2', 'a wrong token', { reconnectPeriod: 0 }).catch(() => undefined)
  const client = await connectDevice(service, 'w2', token)
  await client.subscribeAsync('fleet/w2/ota', { qos: 1 })
  await publish(client, 'w2', '{"a":1}', 'telemtry')
  await admin.post('/commands/w2', { command: 'dock', timeout_sec: 60 })
  const shown = await until('everything to be shown', async () => {
    const { stdout } = await cli.runHere(['debug', 'w2', '--once'], { env })
    const isThere = ['refused', 'dead_letter', 'command'].every((what) => stdout.includes(`\t${what}\t`))
    return isThere && stdout.includes('\nsubscriptions\tota\n') && stdout
  })
  expect(shown).toContain('\nconnected\ttrue\n')
  expect(shown).toMatch(/\trefused\tmqtt\.connect, MQTT_CONNECTION_REFUSED, device token invalid, /)
  expect(shown).toMatch(
    /\tdead_letter\tfleet\/w2\/telemtry: UNKNOWN_TOPIC, .* did you mean telemetry\?; advice: /,
  )
  expect(shown).toMatch(/\tcommand\tdock pending /)
  await client.endAsync(true)
})

test('dead letters are followed as they come, and over a lost connection', async () => {
  const relay = await openRelay(Number(new URL(service.httpUrl).port))
  const relayed = { FLEET_CLI_URL: relay.url, FLEET_CLI_TOKEN: String(admin.token) }
  const [w3, w4] = [await registerDevice(admin, 'w3'), await registerDevice(admin, 'w4')]
  const device = await connectDevice(service, 'w3', w3)
  const other = await connectDevice(service, 'w4', w4)
  await publish(device, 'w3', 'before', 'status')
  await publish(other, 'w4', 'of another device', 'status')
  const args = ['dead-letters', '--follow', '--device', 'w3', '--reason', 'MALFORMED_STATUS', '--json']
  const following = cli.begin(args, { env: relayed })
  const payloads = () =>
    following
      .output()
      .stdout.split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).payload)
  await until('what was there before', () => payloads().length === 1)
  await publish(other, 'w4', 'of another device', 'status')
  await publish(device, 'w3', '{"a":1}', 'telemtry')
  await publish(device, 'w3', 'live', 'status')
  await until('the live one', () => payloads().length === 2)
  relay.close()
  await until('the note', () => following.output().stderr.includes('connection lost'))
  await publish(device, 'w3', 'meanwhile', 'status')
  await relay.open()
  await until('the missed one', () => payloads().length === 3)
  await publish(device, 'w3', 'after', 'status')
  await until('the last one', () => payloads().length === 4)
  following.child.kill('SIGINT')
  expect((await following.ended).code).toBe(130)
  expect(payloads()).toEqual(['before', 'live', 'meanwhile', 'after'])
  relay.close()
  await Promise.all([device.endAsync(true), other.endAsync(true)])
})

/** A way to the service that can be closed and opened again. */
async function openRelay(port: number) {
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy()).on('close', () => to.destroy())
      from.pipe(to)
    }
  })
  const open = (at: number) => new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve))
  await open(0)
  const address = server.address()
  const own = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${own}`,
    open: () => open(own),
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
      sockets.clear()
    },
  }
}
