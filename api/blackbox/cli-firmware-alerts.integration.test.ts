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
const GROUP = 'cli-firmware'
let admin: Rest
let env: Record<string, string>
let run: (...args: readonly string[]) => Promise<string>

test.beforeAll(async ({ service }) => {
  admin = await service.admin()
  env = { FLEET_CLI_URL: service.httpUrl, FLEET_CLI_TOKEN: String(admin.token) }
  run = async (...args) => {
    const { code, stdout, stderr } = await cli.runHere(args, { env })
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')])
    return stdout
  }
  const token = await registerDevice(admin, 'cli-1', { group: GROUP })
  const client = await connectDevice(service, 'cli-1', token)
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
  const deployed = await run(
    'ota',
    'deploy',
    '2.1.0',
    `group:${GROUP}`,
    '--canary',
    '50',
    '--max-concurrent',
    '2',
  )
  const [, id = ''] = /deployment_id\t(dep_\S+)/.exec(deployed) ?? []
  expect(await run('ota', 'status', id)).toContain('firmware\t2.1.0 for mqtt_device')
  expect(await run('ota', 'status')).toContain(`${id}\t2.1.0\tmqtt_device\t`)
  expect(await run('ota', 'pause', id)).toMatch(/status\tpaused \(user\)/)
  expect(await run('ota', 'cancel', id)).toMatch(/status\tcancelled/)
  expect(await run('ota', 'versions', '--group', GROUP)).toMatch(/^mqtt_device\t\S*\t1\t[01]\n$/)
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
  const acknowledged = async () =>
    (JSON.parse(await run('alerts', 'show', alert, '--json')) as { acknowledged: boolean }).acknowledged
  expect(await acknowledged()).toBe(true)
  expect(await run('alerts', 'unack', alert)).toContain(alert)
  expect(await acknowledged()).toBe(false)
  const [, me = ''] = /^id\t(\S+)/m.exec(await run('whoami')) ?? []
  expect(await run('alerts', 'assign', alert, '--me')).toMatch(new RegExp(`\\t${me}\n$`))
  expect(await run('alerts', 'assign', alert, '--nobody')).not.toContain(me)
  expect(await run('alerts', 'assign', alert, me)).toContain(me)
  const unclear = await cli.runHere(['alerts', 'assign', alert, me, '--me'], { env })
  expect([unclear.code, unclear.stderr]).toEqual([2, expect.stringContaining('name the user')])
  const isSnoozed = async () =>
    (JSON.parse(await run('alerts', 'show', alert, '--json')) as { snoozed_until: unknown }).snoozed_until !==
    null
  await run('alerts', 'snooze', alert, '--for-sec', '600')
  expect(await isSnoozed()).toBe(true)
  await run('alerts', 'unsnooze', alert)
  expect(await isSnoozed()).toBe(false)
  expect(await run('alerts', 'resolve', alert, '--snooze-sec', '60')).toContain('resolved')
  const shown = JSON.parse(await run('rules', 'show', rule, '--json')) as object
  writeFileSync(file, JSON.stringify({ ...shown, severity: 'critical' }))
  expect(await run('rules', 'edit', rule, file)).toMatch(/^rul_\S+\tbattery low\tcritical\ttrue/)
  const stale = await cli.runHere(['rules', 'edit', rule, file], { env })
  expect([stale.code, stale.stderr]).toEqual([5, expect.stringContaining('expected "2", got "1"')])
  expect(await run('rules', 'disable', rule)).toContain('false')
  expect(await run('rules', 'delete', rule, '--yes')).toBe('')
})

test('a rule is tried on the past', async () => {
  const file = join(folder, 'tried.json')
  const condition = { kind: 'threshold', metric: 'battery', op: '<', value: 20 }
  writeFileSync(file, JSON.stringify({ name: 'battery low', target: { type: 'all' }, condition }))
  const tried = await until('the point is stored', async () => {
    const text = await run('rules', 'test', file, '--from', '-1h', '--device', 'cli-1', '--json')
    const { devices, episodes } = JSON.parse(text) as { devices: number; episodes: readonly object[] }
    return episodes.length > 0 && { devices, episodes }
  })
  expect(tried).toMatchObject({ devices: 1, episodes: [{ device_id: 'cli-1', count: 1 }] })
  expect(await run('rules', 'test', file, '--from', '-1h', '--device', 'cli-1')).toMatch(/^cli-1\t/)
})

test('a silence is made, listed and ended', async () => {
  const unclear = await cli.runHere(['silences', 'create', 'why', '--for-sec', '60'], { env })
  expect([unclear.code, unclear.stderr]).toEqual([2, expect.stringContaining('say which alerts')])
  const options = ['--device', 'cli-1', '--severity', 'info', 'warning', '--for-sec', '60']
  const made = await run('silences', 'create', 'new battery', ...options)
  const [, silence = ''] =
    /^(sil_\S+)\tactive\tdevice_id=cli-1 severity=info,warning\t\S+\tnew battery\n/.exec(made) ?? []
  expect(await run('silences', 'list', '--state', 'active')).toContain(silence)
  await run('silences', 'end', silence)
  expect(await run('silences', 'list', '--state', 'active')).not.toContain(silence)
})

test('a channel is tried, with an exit code, and a message is sent once more', async () => {
  const made = await run('channels', 'add-webhook', 'https://nobody.invalid/hook', '--name', 'nobody')
  const [, channel = ''] = /channel_id\t(ch_\S+)/.exec(made) ?? []
  const tested = await cli.runHere(['channels', 'test', channel], { env })
  expect(tested).toMatchObject({ code: 1, stdout: expect.stringMatching(/^delivered\tfalse\n/) })
  expect(tested.stderr).toContain('the sample was not delivered')
  const [, delivery = ''] = /(del_\S+)/.exec(await run('channels', 'deliveries', channel)) ?? []
  expect(await run('channels', 'redeliver', delivery)).toContain(delivery)
  await run('channels', 'delete', channel, '--yes')
})

test('a channel is changed by options and by a file, and keeps its secrets', async () => {
  const made = await run('channels', 'add-webhook', 'https://nobody.invalid/hook', '--default')
  const [, channel = ''] = /channel_id\t(ch_\S+)/.exec(made) ?? []
  const [, secret = ''] = /secret\t(whsec_\S+)/.exec(made) ?? []
  const edited = await run('channels', 'edit', channel, '--no-default', '--severity', 'critical', '--disable')
  expect(edited).toMatch(/severity\tcritical\nstate\tdisabled\nenabled\tfalse\ndefault\tfalse\n/)
  expect(await run('channels', 'edit', channel, '--enable', '--group', 'hall')).toMatch(/group\thall\n/)
  const file = join(folder, 'channel.json')
  const shown = JSON.parse(await run('channels', 'show', channel, '--json')) as object
  writeFileSync(file, JSON.stringify({ ...shown, headers: { 'x-key': 'k3y' }, rate_per_minute: 7 }))
  const replaced = await run('channels', 'edit', channel, file, '--all-groups')
  expect(replaced).toMatch(/rate_per_minute\t7\n/)
  expect(replaced).not.toMatch(/k3y|hall/)
  const stale = await cli.runHere(['channels', 'edit', channel, file], { env })
  expect([stale.code, stale.stderr]).toEqual([5, expect.stringContaining('has changed in the meantime')])
  const moved = await run('channels', 'edit', channel, '--address', 'https://other.invalid/hook')
  expect(moved).toMatch(/url\thttps:\/\/other\.invalid\/hook\n/)
  const empty = await cli.runHere(['channels', 'edit', channel], { env })
  expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining('nothing to change')])
  const rotated = await run('channels', 'rotate-secret', channel)
  expect(rotated).toMatch(/secret\twhsec_\S+\n/)
  expect(rotated).not.toContain(secret)
  expect(await run('channels', 'show', channel)).not.toMatch(/whsec_|k3y/)
  await run('channels', 'delete', channel, '--yes')
})
