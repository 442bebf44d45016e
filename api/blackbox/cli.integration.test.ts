// The command line with a whole service, both as processes.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CliHarness, openCliHarness } from '../cli/testing/cli.ts'
import { type Service, ServiceHarness, until } from './testing/service.ts'
import { connectDevice, publish } from './testing/service-clients.ts'

const harness = new ServiceHarness()
let service: Service
let cli: CliHarness
const ACCOUNT = { email: 'admin@example.com', password: 'correct horse battery' }

beforeAll(async () => {
  service = await harness.start()
  await service.admin()
  cli = openCliHarness()
  const args = ['login', '--url', service.httpUrl, '--email', ACCOUNT.email, '--password-stdin']
  expect(await cli.run(args, { stdin: `${ACCOUNT.password}\n` })).toMatchObject({
    code: 0,
    stdout: '',
    stderr: `logged in at ${service.httpUrl} as ${ACCOUNT.email} (admin)\n`,
  })
})
afterAll(async () => {
  await cli.close()
  await harness.close()
})

/** Splits a command line into words, none of which contains a blank. */
const fleet = (line: string) => cli.runHere(line.split(' '))

async function json(line: string): Promise<unknown> {
  const { code, stdout, stderr } = await fleet(`${line} --json`)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

/** Registers a device and connects it. */
async function device(id: string, group = 'none') {
  const made = await json(`devices create ${id} --name ${id} --type mqtt_device --group ${group}`)
  // The answer has the type of its schema.
  const { access_token: token } = made as { access_token: string }
  return await connectDevice(service, id, token)
}

describe('devices', () => {
  test('devices are registered, listed, edited and decommissioned', async () => {
    const made = await fleet('devices create d1 --name One --type mqtt_device --group w/a --tag x --tag y')
    expect(made.stdout).toMatch(/^device_id\td1\naccess_token\tey\S+\nmqtt_endpoint\tmqtt:/)
    await json('devices create d2 --name Two --type mqtt_device --group w/b --tag x')
    const lines = await fleet('devices list --group w --sort name')
    expect(lines).toEqual({
      code: 0,
      stderr: '',
      stdout:
        'd1\tOne\tmqtt_device\tprovisioning\tw/a\tx,y\t\t\nd2\tTwo\tmqtt_device\tprovisioning\tw/b\tx\t\t\n',
    })
    expect(await fleet('devices list --group w --limit 1')).toMatchObject({
      stderr: 'only the first 1 are shown; use --limit to see more\n',
    })
    const edited = await json('devices edit d1 --heartbeat-timeout 900 --metadata {"a":1} --if-match 1-any')
    expect(edited).toMatchObject({ heartbeat_timeout_sec: 900, metadata: { a: 1 }, tags: ['x', 'y'] })
    expect(await fleet('devices edit d1 --name X --if-match 1-any')).toMatchObject({ code: 5 })
    expect(await fleet('devices decommission d2')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--yes'),
    })
    expect(await json('devices decommission d2 --yes')).toMatchObject({ status: 'decommissioned' })
    expect(await fleet('devices token d2')).toMatchObject({ code: 5 })
  })
})

test('devices are imported from a file, with errors row by row, and exported', async () => {
  const rows = 'device_id,name,type,tags\ni1,One,mqtt_device,x;y\ni 2,Two,mqtt_device,\n'
  const imported = await cli.run('devices import - --format csv --json'.split(' '), { stdin: rows })
  expect(imported.code).toBe(1)
  expect(JSON.parse(imported.stdout)).toEqual([
    expect.objectContaining({
      device_id: 'i1',
      status: 'created',
      access_token: expect.stringMatching(/^ey/),
    }),
    expect.objectContaining({ row: 2, status: 'failed' }),
  ])
  expect(JSON.parse(imported.stderr)).toEqual({ error: expect.objectContaining({ exit_code: 1 }) })
  expect(await json('devices get i1')).toMatchObject({ tags: ['x', 'y'] })
  const exported = await fleet('devices export -q i1 --format csv')
  expect(exported).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^device_id,.*\r\ni1,One,/),
  })
})

test('a file with more devices than the service takes at once is sent in parts, and its rows are counted on', async () => {
  const lines = Array.from(
    { length: 10_001 },
    (_, at) => `p${at},P,${at < 10_000 ? 'mqtt_device' : 'unheard-of'}`,
  )
  const stdin = ['device_id,name,type', ...lines].join('\n')
  const checked = await cli.run('devices import - --format csv --dry-run --json'.split(' '), { stdin })
  const rows: unknown[] = JSON.parse(checked.stdout)
  expect([rows.length, rows[9_999], rows[10_000]]).toEqual([
    10_001,
    expect.objectContaining({ row: 10_000, device_id: 'p9999', status: 'valid' }),
    expect.objectContaining({ row: 10_001, device_id: 'p10000', status: 'failed' }),
  ])
  expect(checked.stderr).toContain('1 of 10001 rows failed')
})

describe('telemetry', () => {
  test('telemetry is watched live, read, and queried for its history', async () => {
    const client = await device('t1')
    await publish(client, 't1', { temperature: 20, deep: { er: 1 } })
    const watching = cli.begin(['telemetry', 'watch', 't1', '--json'])
    const seen = () =>
      watching
        .output()
        .stdout.split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line).data.temperature)
    await until('the snapshot', () => seen().length === 1)
    await publish(client, 't1', { temperature: 21 })
    await until('the report', () => seen().length === 2)
    watching.child.kill('SIGINT')
    expect((await watching.ended).code).toBe(130)
    expect(seen()).toEqual([20, 21])
    const { stdout } = await fleet('telemetry get t1')
    expect(stdout).toMatch(/^device_id\tt1\ntimestamp\t20\S+Z\ntemperature\t21\ndeep.er\t1\n$/)
    const past = await until('the past', async () => {
      const buckets = await json('telemetry history t1 temperature --from 1h --interval 1d')
      return Array.isArray(buckets) && buckets[0]?.count === 2 && buckets
    })
    expect(past).toEqual([expect.objectContaining({ min: 20, max: 21, last: 21 })])
    const metrics = await fleet('telemetry metrics t1')
    expect(metrics.stdout).toMatch(
      /^deep\.er\tnumber\t1\t\S*\t20\S+Z\ntemperature\tnumber\t21\t\S*\t20\S+Z\n$/,
    )
    const summed = await fleet('telemetry history t1 temperature,deep.er --interval 1d --agg sum,p50')
    expect(summed.stdout).toMatch(/^temperature\t20\S+Z\t41\t20\.5\ndeep\.er\t20\S+Z\t1\t1\n$/)
    expect((await fleet('__complete telemetry get t')).stdout).toContain('t1\n')
    await client.endAsync(true)
  })

  test('telemetry of an unknown device is not watched', async () => {
    expect(await fleet('telemetry watch nobody')).toMatchObject({ code: 3, stdout: '' })
  })
})

test('a watcher reconnects when the service is back', async () => {
  const other = await harness.start()
  const admin = await other.admin()
  const env = { FLEET_CLI_URL: other.httpUrl, FLEET_CLI_TOKEN: String(admin.token) }
  const watching = cli.begin(['telemetry', 'watch'], { env })
  const made = await admin.post('/devices', { device_id: 'w1', name: 'w', type: 'mqtt_device' })
  const token = String(made.body['access_token'])
  const say = async (at: Service, value: number) => {
    const client = await connectDevice(at, 'w1', token)
    await publish(client, 'w1', { value })
    await client.endAsync()
  }
  await say(other, 1)
  await until('the first', () => watching.output().stdout.includes('value=1'))
  other.kill('SIGKILL')
  await until('a word about it', () => watching.output().stderr.includes('connection lost'))
  const again = await other.again()
  await say(again, 2)
  await until('the second', () => watching.output().stdout.includes('value=2'))
  watching.child.kill('SIGINT')
  await watching.ended
})

test('a shadow is changed with an expected version', async () => {
  await json('devices create s1 --name s1 --type mqtt_device')
  expect(await json('shadow set s1 {"speed":1,"lamp":true}')).toMatchObject({ version: 1, in_sync: false })
  expect(await json('shadow set s1 {"speed":2} --replace --if-version 1')).toMatchObject({
    version: 2,
    desired: { speed: 2 },
  })
  const stale = await fleet('shadow set s1 {"speed":3} --if-version 1')
  expect(stale).toMatchObject({
    code: 5,
    stdout: '',
    stderr: expect.stringContaining('expected version 2, got 1'),
  })
  expect(await json('shadow delta s1')).toMatchObject({ delta: { speed: 2 } })
  const history = await until('the history', async () => {
    const rows = await json('shadow history s1')
    return Array.isArray(rows) && rows.length === 2 && rows
  })
  expect(history[0]).toMatchObject({ version: 2, section: 'desired' })
})

describe('a command', () => {
  async function obeying(id: string, status: string) {
    const client = await device(id, `obey/${id}`)
    client.on('message', (_, payload) => {
      const { request_id } = JSON.parse(payload.toString())
      void publish(client, id, { request_id, status, result: { done: true } }, 'command/ack')
    })
    await client.subscribeAsync(`fleet/${id}/command`, { qos: 1 })
    return client
  }

  test('a command is waited for, and its result decides the exit code', async () => {
    const good = await obeying('c1', 'completed')
    expect(await json('cmd send c1 move -p x=3 -p name=home --wait')).toMatchObject({
      status: 'completed',
      data: { x: 3, name: 'home' },
      result: { done: true },
    })
    await good.endAsync(true)
    const bad = await obeying('c2', 'failed')
    const failed = await fleet('cmd send c2 move --wait 20')
    expect(failed).toMatchObject({ code: 1, stdout: expect.stringContaining('status\tfailed') })
    await bad.endAsync(true)
  })

  test('a command that no device takes stays open and can be cancelled', async () => {
    await json('devices create c3 --name c3 --type mqtt_device')
    expect(await fleet('cmd send c3 move --wait 1')).toMatchObject({ code: 7 })
    const [command] = (await json('cmd list c3 --status pending')) as { command_id: string }[]
    const id = String(command?.command_id)
    expect(await json(`cmd cancel c3 ${id}`)).toMatchObject({ status: 'cancelled' })
    expect(await fleet(`cmd cancel c3 ${id}`)).toMatchObject({ code: 5 })
  })

  test('a command goes to a group, and an empty group is an error', async () => {
    const client = await obeying('c4', 'completed')
    const done = await json('broadcast send obey/c4 stop --wait')
    expect(done).toMatchObject({ status: 'completed', counts: expect.objectContaining({ completed: 1 }) })
    expect(await fleet('broadcast send nobody stop')).toMatchObject({ code: 2 })
    const { broadcast_id } = done as { broadcast_id: string }
    expect((await fleet('broadcast list')).stdout).toMatch(
      new RegExp(`^${broadcast_id}\tobey/c4\tstop\tcompleted\t1 completed\t`),
    )
    expect((await fleet(`broadcast show ${broadcast_id}`)).stdout).toMatch(/^c4\tcompleted\t\t20/)
    expect((await fleet(`broadcast show ${broadcast_id} --failed`)).stdout).toBe('')
    await client.endAsync(true)
  })
})

test('logs and events are read and followed', async () => {
  const client = await device('l1')
  const following = cli.begin(['logs', 'l1', '--follow', '--level', 'error'])
  // The line is sent again until it arrives, which shows that the subscription is active.
  await until('a followed line', async () => {
    await publish(client, 'l1', { level: 'info', message: 'calm' }, 'log')
    await publish(client, 'l1', { level: 'error', message: 'hot\u001b[31m' }, 'log')
    return following.output().stdout !== ''
  })
  following.child.kill('SIGINT')
  const { code, stdout } = await following.ended
  expect(code).toBe(130)
  expect(stdout).toMatch(/^20\S+Z\terror\t\thot\ufffd\[31m\n/)
  expect(stdout).not.toContain('calm')
  await until('the log', async () =>
    (await fleet('logs l1 --level info')).stdout.includes('\tinfo\t\tcalm\n'),
  )
  await until('the timeline', async () =>
    (await fleet('events l1 --kind status')).stdout.includes('provisioning → online'),
  )
  await client.endAsync(true)
})

test('users are registered, limited to groups, disabled and deleted', async () => {
  const line = 'users create --email eve@example.com --name Eve --role operator --password-stdin --json'
  const made = await cli.run(line.split(' '), { stdin: 'correct horse battery' })
  const { id } = JSON.parse(made.stdout)
  const limited = 'users create --email ann@example.com --name Ann --groups w/a w/b --password-stdin --json'
  const ann = await cli.run(limited.split(' '), { stdin: 'correct horse battery' })
  expect(JSON.parse(ann.stdout)).toMatchObject({ role: 'viewer', groups: ['w/a', 'w/b'] })
  expect(await json('users edit Ann@example.com --groups w/c')).toMatchObject({ groups: ['w/c'] })
  expect(await fleet('users rm ann@example.com --yes')).toMatchObject({ code: 0 })
  expect(await fleet('users get ann@example.com')).toMatchObject({ code: 3 })
  expect(await json(`users edit ${id} --groups w/a w/b`)).toMatchObject({ groups: ['w/a', 'w/b'] })
  expect(await json('users list -q eve')).toEqual([expect.objectContaining({ id, disabled: false })])
  expect(await json(`users edit ${id} --disable`)).toMatchObject({ disabled: true })
  expect(await fleet(`users edit ${id}`)).toMatchObject({ code: 2 })
  expect(await fleet(`users delete ${id} --yes`)).toMatchObject({ code: 0 })
  expect(await fleet(`users get ${id}`)).toMatchObject({ code: 3 })
})

test('the audit shows who did what', async () => {
  await json('devices create a1 --name a1 --type mqtt_device')
  const entries = await until('the entry', async () => {
    const found = await json('audit --action registerDevice --device a1')
    return Array.isArray(found) && found.length > 0 && found
  })
  expect(entries).toEqual([expect.objectContaining({ outcome: 'success', target: 'devices/a1' })])
})

test('simulated devices report until they are stopped', async () => {
  const simulating = cli.begin(['simulate', '2'])
  await until('reports', async () => {
    const { code, stdout } = await fleet('telemetry get sim-001')
    return code === 0 && stdout.includes('battery')
  })
  simulating.child.kill('SIGINT')
  expect(await simulating.ended).toMatchObject({
    code: 130,
    stdout: expect.stringMatching(/^devices\t2\nconnected\t2\n/m),
    stderr: expect.stringContaining('2 devices report to mqtt://'),
  })
})

describe('a command line', () => {
  test('a wrong command line is explained on stderr', async () => {
    const wrong: readonly (readonly [string, number, string])[] = [
      ['nonsense', 2, "unknown command 'nonsense'"],
      ['devices', 2, 'Usage: fleet devices'],
      ['devices list --status wrong', 2, 'Allowed choices'],
      ['devices list --status error,gone', 2, 'Allowed choices are provisioning, online'],
      ['telemetry history x y --agg p96', 2, 'Allowed choices are avg, min'],
      ['devices get', 2, 'error: give device ids or --selector\n'],
      ['devices list --limit x --json', 2, '{"error":{"code":null,"message":"option '],
      ['nonsense -o json', 2, '"exit_code":2}}'],
      ['telemetry history x y --from soon', 2, 'or an age such as'],
      ['devices import /nowhere.csv', 2, '/nowhere.csv cannot be read'],
      ['shadow set x @/nowhere.json', 2, '/nowhere.json cannot be read'],
      ['devices get nobody', 3, 'no such device'],
      ['--context nope devices list', 2, 'fleet contexts list'],
      ['--url nonsense login --email a', 2, 'is not the URL of a service'],
    ]
    const told = await Promise.all(wrong.map(([line]) => fleet(line)))
    for (const [i, [, code, stderr]] of wrong.entries())
      expect(told[i]).toEqual({ code, stdout: '', stderr: expect.stringContaining(stderr) })
  })

  test('help is shown for the program and for a command', async () => {
    const [all, short, one] = await Promise.all([fleet('--help'), fleet('help'), fleet('help cmd send')])
    expect(all).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('Exit codes:') })
    expect(short.stdout).toBe(all.stdout)
    expect(one.stdout).toContain('--wait [seconds]')
    expect((await fleet('help devices import')).stdout).toContain(
      'heartbeat_timeout_sec, and metadata.<name>',
    )
    expect(await cli.run(['--version'])).toMatchObject({ code: 0, stdout: '0.1.0\n' })
  })

  test('completion suggests commands', async () => {
    expect((await cli.run(['__complete', 'devices', 'dec'])).stdout).toBe('decommission\n')
    expect((await fleet('completion bash')).stdout).toContain('complete -o default -F _fleet fleet')
  })
})
