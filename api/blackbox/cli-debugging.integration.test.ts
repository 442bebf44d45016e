// Finding out on the command line why a device does not get through.
import { afterAll, expect, test } from 'vitest'
import { openCliHarness } from '../cli/testing/cli.ts'
import { ServiceHarness, until } from './testing/service.ts'
import { connectDevice, publish } from './testing/service-clients.ts'
import { registerDevice } from './testing/service-rest.ts'

const harness = new ServiceHarness()
const cli = openCliHarness()
afterAll(async () => {
  await cli.close()
  await harness.close()
})

test('what a device did wrong is found on the command line', async () => {
  const service = await harness.start()
  const admin = await service.admin()
  const env = { FLEET_CLI_URL: service.httpUrl, FLEET_CLI_TOKEN: String(admin.token) }
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
    const { stdout } = await cli.run(['audit', '--device', 'w1', '--action', 'mqtt.connect'], { env })
    return stdout !== '' && stdout
  })
  expect(refused).toMatch(/devices\/w1\trefused\tMQTT_CONNECTION_REFUSED\t\S+/)
  expect((await cli.run(['whoami'], { env })).stdout).toMatch(
    new RegExp(`^url\t${service.httpUrl}\n[^]*role\tadmin\n`),
  )
})

test('one command shows the state of a device, what it was refused, and what it is to do', async () => {
  const service = await harness.start()
  const admin = await service.admin()
  const env = { FLEET_CLI_URL: service.httpUrl, FLEET_CLI_TOKEN: String(admin.token) }
  const token = await registerDevice(admin, 'w2')
  await connectDevice(service, 'w2', 'a wrong token', { reconnectPeriod: 0 }).catch(() => undefined)
  const client = await connectDevice(service, 'w2', token)
  await publish(client, 'w2', '{"a":1}', 'telemtry')
  await admin.post('/commands/w2', { command: 'dock', timeout_sec: 60 })
  const shown = await until('everything to be shown', async () => {
    const { stdout } = await cli.run(['debug', 'w2', '--once'], { env })
    return ['refused', 'dead_letter', 'command'].every((what) => stdout.includes(`\t${what}\t`)) && stdout
  })
  expect(shown).toContain('\nconnected\ttrue\n')
  expect(shown).toMatch(/\trefused\tmqtt\.connect, MQTT_CONNECTION_REFUSED, device token invalid, /)
  expect(shown).toMatch(
    /\tdead_letter\tfleet\/w2\/telemtry: UNKNOWN_TOPIC, .* did you mean telemetry\?; advice: /,
  )
  expect(shown).toMatch(/\tcommand\tdock pending /)
  await client.endAsync(true)
})
