// Firmware and alerts on the command line.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { openCliHarness } from '../cli/testing/cli.ts'
import { ServiceHarness, until } from './testing/service.ts'
import { connectDevice, publish } from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

const harness = new ServiceHarness()
const cli = openCliHarness()
const folder = harness.newFolder()
let admin: Rest
let run: (...args: readonly string[]) => Promise<string>

test.beforeAll(async ({ service }) => {
  admin = await service.admin()
  const env = { FLEET_CLI_URL: service.httpUrl, FLEET_CLI_TOKEN: String(admin.token) }
  run = async (...args) => {
    const { code, stdout, stderr } = await cli.runHere(args, { env })
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')])
    return stdout
  }
  const client = await connectDevice(service, 'cli-1', await registerDevice(admin, 'cli-1'))
  await publish(client, 'cli-1', JSON.stringify({ battery: 5 }), 'telemetry')
})
afterAll(async () => {
  await cli.close()
  await harness.close()
})

test('firmware is uploaded, deployed, paused and cancelled', async () => {
  const file = join(folder, 'robot.bin')
  writeFileSync(file, Buffer.alloc(100_000, 7))
  const stored = await run('ota', 'upload', file, '2.1.0', '--type', 'mqtt_device')
  expect(stored).toMatch(/version\t2\.1\.0\n.*\nsize_bytes\t100000\n/)
  expect(await run('ota', 'list')).toMatch(/^fw_\S+\t2\.1\.0\tmqtt_device\tavailable\t100000\t/)
  const [image = ''] = stored.match(/fw_\S+/) ?? []
  const copy = join(folder, 'copy.bin')
  expect(await run('ota', 'download', image, copy)).toMatch(
    /copy\.bin\nversion\t2\.1\.0\nsize_bytes\t100000\n/,
  )
  expect(readFileSync(copy).equals(readFileSync(file))).toBe(true)
  expect(readdirSync(folder).sort()).toEqual(['copy.bin', 'robot.bin'])
  const tried = await run('ota', 'deploy', '2.1.0', 'device:cli-1', '--dry-run')
  expect(tried).toMatch(/accepted\t1\n/)
  const deployed = await run('ota', 'deploy', '2.1.0', 'all', '--canary', '50', '--max-concurrent', '2')
  const [, id = ''] = /deployment_id\t(dep_\S+)/.exec(deployed) ?? []
  expect(await run('ota', 'status', id)).toContain('firmware\t2.1.0 for mqtt_device')
  expect(await run('ota', 'status')).toContain(`${id}\t2.1.0\tmqtt_device\t`)
  expect(await run('ota', 'pause', id)).toMatch(/status\tpaused \(user\)/)
  expect(await run('ota', 'cancel', id)).toMatch(/status\tcancelled/)
  expect(await run('ota', 'versions')).toMatch(/^mqtt_device\t/)
})

test('a rule is made from a file, and its alert is listed, acknowledged and resolved', async () => {
  const file = join(folder, 'rule.json')
  const condition = { kind: 'threshold', metric: 'battery', op: '<', value: 20 }
  writeFileSync(
    file,
    JSON.stringify({ name: 'battery low', target: { type: 'all' }, condition, channels: [] }),
  )
  const made = await run('rules', 'create', file)
  const [, rule = ''] = /^(rul_\S+)\tbattery low\twarning\ttrue/.exec(made) ?? []
  expect(rule).not.toBe('')
  const listed = await until('the alert', async () => {
    const text = await run('alerts', 'list', '--device', 'cli-1')
    return text.includes('firing') && text
  })
  const [, alert = ''] = /^(alt_\S+)\twarning\tfiring\tcli-1\tbattery low\t5\t/.exec(listed) ?? []
  expect(await run('alerts', 'ack', alert, '--comment', 'on my way')).toContain(alert)
  expect(await run('alerts', 'show', alert)).toContain('on my way')
  expect(await run('alerts', 'resolve', alert, '--snooze-sec', '60')).toContain('resolved')
  expect(await run('rules', 'disable', rule)).toContain('false')
  expect(await run('rules', 'delete', rule, '--yes')).toBe('')
})
