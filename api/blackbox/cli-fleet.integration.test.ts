// The whole fleet on the command line: its status, its feeds, its dead letters, and shadows as they were.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCliHarness } from '../cli/testing/cli.ts'
import { type Service, ServiceHarness, until } from './testing/service.ts'
import { connectDevice, publish } from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'

const harness = new ServiceHarness()
const cli = openCliHarness()
const folder = mkdtempSync(join(tmpdir(), 'fleet-import-'))
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await cli.close()
  await harness.close()
})

let service: Service
let admin: Rest
let env: Readonly<Record<string, string>>

const fleet = (line: string) => cli.runHere(line.split(' '), { env })
const json = async (line: string) => JSON.parse((await fleet(`${line} --json`)).stdout)

// Its own service: the first test counts the whole fleet.
beforeAll(async () => {
  service = await harness.start()
  admin = await service.admin()
  env = { FLEET_CLI_URL: service.httpUrl, FLEET_CLI_TOKEN: String(admin.token) }
})

test('the status of the fleet, its events and its logs are shown without naming a device', async () => {
  await registerDevice(admin, 's2')
  const client = await connectDevice(service, 's1', await registerDevice(admin, 's1'))
  await publish(client, 's1', '{"level":"warn","message":"wheel slips"}', 'log')
  const shown = await until('the status', async () => {
    const { stdout } = await fleet('status')
    return stdout.includes('online\t1\t') && stdout
  })
  expect(shown).toMatch(/^provisioning\t1\t/m)
  expect(shown).toMatch(/^total\t2\t/m)
  expect(await json('status')).toMatchObject({
    total: { devices: 2 },
    by_status: { online: { devices: 1 }, provisioning: { devices: 1 } },
    attention: { devices: 0, alerts: { critical: 0 } },
  })
  await until('the log line', async () => /^s1\t.*\twarn\t\twheel slips$/m.test((await fleet('logs')).stdout))
  await until('the event', async () => /^s1\t.*\tstatus\t.*online/m.test((await fleet('events')).stdout))
  expect((await fleet('events --group nowhere')).stdout).toBe('')
  await client.endAsync(true)
})

test('many devices are changed by a selector, once they have been counted', async () => {
  for (const id of ['m1', 'm2', 'm3'])
    await fleet(`devices create ${id} --name ${id} --type mqtt_device --group w/${id} --tag old`)
  const before = await json('devices edit -l group=w/m1,tag=old --add-tag new --dry-run')
  expect(before).toMatchObject({ dry_run: true, total: 1, changed: 1 })
  expect(await fleet('devices edit -l tag=old --add-tag new')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Change 3 of 3 devices?'),
  })
  const done = await fleet('devices edit -l tag=old,group=w --add-tag new --remove-tag old --yes')
  expect(done).toMatchObject({ code: 0, stdout: expect.stringMatching(/^devices\t3\nchanged\t3\n/) })
  expect(await json('devices get m3')).toMatchObject({ tags: ['new'], group: 'w/m3' })
  expect(await json('devices edit m3 --tag own')).toMatchObject({ tags: ['own'], group: 'w/m3' })
  for (const [line, why] of [
    ['devices edit m1 -l tag=new --group x', 'not both'],
    ['devices edit m1 --add-tag x', '--tag sets the tags of one device'],
    ['devices edit m1 m2 --name x', '--name is for one device'],
    ['devices edit --group x', 'give device ids or --selector'],
    ['devices edit -l tag=new --tag other', 'use --add-tag and --remove-tag'],
    ['devices edit -l tag=new', 'nothing to change'],
    ['devices edit -l tga=new --group x', 'did you mean tag?'],
  ] as const)
    expect(await fleet(line)).toMatchObject({ code: 2, stderr: expect.stringContaining(why) })
})

test('the desired state of many devices is changed by a selector, once they have been counted', async () => {
  for (const id of ['d1', 'd2', 'd3'])
    await fleet(`devices create ${id} --name ${id} --type mqtt_device --group dim/${id} --tag dimmed`)
  await fleet('devices decommission d3 --yes')
  const line = 'shadow set -l tag=dimmed,group=dim {"level":3}'
  expect(await json(`${line} --dry-run`)).toEqual({ devices: 2, first: ['d1', 'd2'] })
  expect(await fleet(line)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Change the desired state of 2 devices?'),
  })
  expect(await json(`${line} --yes`)).toEqual({ devices: 2, done: 2, failed: 0 })
  expect(await json('shadow get d2')).toMatchObject({ version: 1, desired: { level: 3 } })
  expect(await fleet(`${line.replace('dimmed', 'nobody')} --yes`)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no device matches'),
  })
  for (const [wrong, why] of [
    ['shadow set d1 -l tag=dimmed {}', 'not both'],
    ['shadow set -l tag=dimmed', 'and a JSON object'],
    ['shadow set d1', 'give device ids or --selector, and a JSON object'],
    ['shadow set -l tag=dimmed {} --if-version 1', 'is for one device'],
    ['shadow set d1 [1]', 'expected a JSON object'],
  ] as const)
    expect(await fleet(wrong)).toMatchObject({ code: 2, stderr: expect.stringContaining(why) })
})

test('commands for one device take several ids, and the same selector', async () => {
  for (const id of ['v1', 'v2', 'v3'])
    await fleet(`devices create ${id} --name ${id} --type mqtt_device --tag verbs`)
  const ids = async (line: string) =>
    (await json(line)).map(({ device_id }: { device_id: string }) => device_id)
  expect(await ids('devices get v2 v1')).toEqual(['v2', 'v1'])
  expect(await ids('devices get -l tag=verbs')).toEqual(['v1', 'v2', 'v3'])
  expect(await json('devices edit v1 v2 --add-tag two --yes')).toMatchObject({ total: 2, changed: 2 })
  expect(await json('shadow set v1,v2 {"level":3} --yes')).toMatchObject({ devices: 2, done: 2 })
  expect(await ids('shadow get v1 v2')).toEqual(['v1', 'v2'])
  expect(await ids('telemetry get -l tag=verbs')).toEqual(['v1', 'v2', 'v3'])
  expect(await ids('devices token v1 v2 --yes')).toEqual(['v1', 'v2'])
  expect(await json('devices revoke -l tag=two --yes')).toEqual({ devices: 2, done: 2, failed: 0 })
  expect(await ids('shadow delta v1 v2')).toEqual(['v1', 'v2'])
  expect(await json('cmd send v1,v2 stop')).toMatchObject({ total: 2, target: { type: 'devices' } })
  expect(await json('cmd send -l tag=verbs stop {"now":true} --dry-run')).toMatchObject({ total: 3 })
  expect(await json('devices decommission -l tag=two --dry-run')).toEqual({ devices: 2, first: ['v1', 'v2'] })
  expect(await fleet('devices decommission v1 v2')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Decommission 2 devices?'),
  })
  const some = await fleet('devices decommission v1 nobody v2 --yes --json')
  expect(some).toMatchObject({ code: 1, stderr: expect.stringContaining('nobody: ') })
  expect(JSON.parse(some.stdout)).toEqual({ devices: 3, done: 2, failed: 1 })
  // What is decommissioned is left alone, unless it is asked for.
  expect(await ids('devices get -l tag=verbs')).toEqual(['v3'])
  expect(await json('devices purge -l tag=verbs,status=decommissioned --yes')).toMatchObject({ done: 2 })
  for (const [line, why] of [
    ['devices get', 'give device ids or --selector'],
    ['shadow get v3 v3,v4 --at-version 1', 'is for one device'],
    ['telemetry get v3 v4 -w', 'is for one device'],
    ['cmd send v3', 'give the name of a command'],
    ['cmd send -l tag=verbs v3 stop {}', 'not both'],
  ] as const)
    expect(await fleet(line)).toMatchObject({ code: 2, stderr: expect.stringContaining(why) })
})

test('lists of one device are shown of several, and each line tells its device', async () => {
  for (const id of ['w1', 'w2']) {
    const client = await connectDevice(service, id, await registerDevice(admin, id, { tags: ['listed'] }))
    await publish(client, id, '{"level":7}', 'telemetry')
    await client.endAsync()
    await fleet(`shadow set ${id} {"level":3}`)
    await fleet(`shadow set ${id} {"level":4}`)
    await fleet(`cmd send ${id} stop`)
  }
  const ids = async (line: string) =>
    (await json(line)).map(({ device_id }: { device_id: string }) => device_id)
  const both = async (line: string) =>
    await expect.poll(() => ids(line), { timeout: 60_000, interval: 500 }).toEqual(['w1', 'w2'])
  await both('cmd list w1 w2')
  await both('cmd list -l tag=listed --status pending')
  await both('shadow history w1,w2 --limit 1')
  await both('telemetry metrics -l tag=listed')
  await both('telemetry history -l tag=listed level --interval 1d')
  await both('telemetry history w1 w2 level --interval 1d')
  expect((await fleet('cmd list w1 w2')).stdout).toMatch(/^w1\tcmd_\S+\tstop\t.*\nw2\tcmd_/)
  expect(await fleet('shadow history w1 w2 --limit 1')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('only the first 1 of each device are shown'),
  })
  expect(await fleet('cmd list w1 nobody')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^w1\tcmd_/),
    stderr: expect.stringContaining('1 of 2 devices failed: nobody: '),
  })
  for (const [line, why] of [
    ['cmd list', 'give device ids or --selector'],
    ['shadow history w1 -l tag=listed', 'not both'],
    ['telemetry history w1', 'and a metric such as battery.percent'],
    ['telemetry history w1 -l tag=listed level', 'not both'],
  ] as const)
    expect(await fleet(line)).toMatchObject({ code: 2, stderr: expect.stringContaining(why) })
})

test('an export is imported again, changed', async () => {
  for (const id of ['x1', 'x2'])
    await fleet(`devices create ${id} --name ${id} --type mqtt_device --group ex`)
  const { stdout } = await fleet('devices export --group ex --format csv')
  const file = join(folder, 'devices.csv')
  writeFileSync(file, `${stdout.replace('x2,x2,', 'x2,second,')}x3,third,mqtt_device${','.repeat(10)}\n`)
  expect((await fleet(`devices import ${file} --dry-run`)).code).toBe(1)
  const done = await fleet(`devices import ${file} --upsert`)
  expect(done).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('1 unchanged, 1 updated, 1 created'),
  })
  expect(await json('devices get x2')).toMatchObject({ name: 'second', group: 'ex' })
})

test('a command goes to all that a selector matches, and one to a device that is away says so', async () => {
  for (const id of ['b1', 'b2', 'b3'])
    await fleet(
      `devices create ${id} --name ${id} --type mqtt_device --tag ${id === 'b3' ? 'blue' : 'green'}`,
    )
  const about = 'broadcast send tag=green,status=provisioning'
  expect(await json(`${about} stop --dry-run`)).toMatchObject({ total: 2, accepted: 2 })
  const sent = await json(`${about} stop`)
  expect(sent).toMatchObject({ total: 2, target: { type: 'query', value: { tag: ['green'] } } })
  expect(await json('cmd list b3')).toEqual([])
  expect(await fleet(`${about},group=none stop`)).toMatchObject({ code: 2 })
  expect(await fleet('broadcast send tga=green stop')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('did you mean tag?'),
  })
  const alone = await fleet('cmd send b3 stop --wait 1')
  expect([alone.code, alone.stderr]).toEqual([
    7,
    expect.stringContaining('b3 is provisioning and not connected: it has never connected'),
  ])
})

test('the list of devices says why one is in error, and the doctor that there is one', async () => {
  const client = await connectDevice(service, 'e1', await registerDevice(admin, 'e1'))
  await publish(client, 'e1', '{"diagnostics":[{"level":2,"name":"motor","message":"too hot"}]}')
  await until('the cause', async () =>
    /^e1\t.*\terror\t.*motor.*\n$/.test((await fleet('devices list --status error')).stdout),
  )
  const { stdout, stderr } = await cli.runHere(['doctor'], {
    env: { ...env, FLEET_DATA_DIR: '/no/such/folder' },
  })
  expect(stdout).toMatch(/^devices\twarn\t\d+ devices: .* 1 in error$/m)
  expect(stderr).toContain('devices list --status error')
  // The service runs, so what is to be known of a folder that is not there is nothing.
  expect(stdout).not.toMatch(/^(data|disk)\t/m)
  await client.endAsync(true)
})

test('dead letters are counted by reason, replayed and discarded, with a count before', async () => {
  const client = await connectDevice(service, 'l1', await registerDevice(admin, 'l1'))
  await publish(client, 'l1', 'no JSON at all', 'status')
  await until('the summary', async () =>
    /^MALFORMED_STATUS\t1\t1\t/m.test((await fleet('dead-letters summary')).stdout),
  )
  expect((await fleet('doctor')).stdout).toMatch(/^messages\twarn\t\d+ could not be processed/m)
  const unsure = await fleet('dead-letters discard --reason MALFORMED_STATUS')
  expect(unsure).toMatchObject({ code: 2, stderr: expect.stringContaining('Discard 1 dead letters?') })
  expect(await json('dead-letters replay --reason MALFORMED_STATUS --dry-run')).toMatchObject({
    dry_run: true,
    total: 1,
    done: 1,
  })
  expect(await json('dead-letters replay --device l1 --yes')).toMatchObject({ dry_run: false, done: 1 })
  expect(await json('dead-letters discard --device nobody --yes')).toMatchObject({ total: 0 })
  await until('the dead letters to be gone', async () => {
    await fleet('dead-letters discard --device l1 --yes')
    return (await fleet('dead-letters --device l1')).stdout === ''
  })
  await client.endAsync(true)
})

test('a shadow is shown as it was and brought back', async () => {
  await registerDevice(admin, 'h1')
  await fleet('shadow set h1 {"speed":1}')
  await fleet('shadow set h1 {"speed":2}')
  const before = await until('the earlier version', async () => {
    const { code, stdout } = await fleet('shadow get h1 --at-version 1 --json')
    return code === 0 && JSON.parse(stdout)
  })
  expect(before).toMatchObject({ version: 1, desired: { speed: 1 } })
  expect((await fleet('shadow revert h1 1 --if-version 1')).code).toBe(5)
  expect(await json('shadow revert h1 1 --if-version 2')).toMatchObject({ version: 3, desired: { speed: 1 } })
})
