import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openCliHarness } from './testing/cli.ts'

const cli = openCliHarness()
afterAll(() => cli.close())
const dir = join(cli.configDir, 'ca')
const certs = (...args: readonly string[]) => cli.run(['certs', ...args, '--dir', dir])

test('a CA issues, lists and revokes certificates without a running service', async () => {
  expect(await certs('issue', 'robot-7')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('fleet certs init'),
  })
  expect(await certs('init', '--server', 'mqtt.example.com', '10.0.0.1')).toMatchObject({ code: 0 })
  expect(await certs('init')).toMatchObject({ code: 2, stderr: expect.stringContaining('already has a CA') })
  const issued = await certs('issue', 'robot-7', '--days', '30', '--json')
  expect(JSON.parse(issued.stdout)).toEqual({
    certificate: join(dir, 'devices', 'robot-7.crt'),
    key: join(dir, 'devices', 'robot-7.key'),
  })
  for (const name of ['ca.key', 'ca.crt', 'ca.crl', 'server.crt', 'server.key', 'devices/robot-7.key'])
    expect([name, existsSync(join(dir, name))]).toEqual([name, true])
  expect(await certs('revoke', 'robot-7')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--yes'),
  })
  expect(await certs('revoke', 'robot-7', '--yes')).toMatchObject({ code: 0 })
  expect(await certs('revoke', 'robot-8', '--yes')).toMatchObject({ code: 2 })
  const listed = JSON.parse((await certs('list', '--json')).stdout)
  expect(listed).toMatchObject([
    { kind: 'server', name: 'mqtt.example.com', revoked_at: null },
    { kind: 'device', name: 'robot-7', revoked_at: expect.any(String) },
  ])
})

test('files of a CA go where nobody has put a link, and keys are for their owner', async () => {
  const theirs = join(cli.configDir, 'theirs')
  writeFileSync(theirs, '', { mode: 0o666 })
  for (const name of ['ca.crl.new', join('devices', 'robot-9.key.new')]) symlinkSync(theirs, join(dir, name))
  expect(await certs('issue', 'robot-9')).toMatchObject({ code: 0 })
  expect(await certs('revoke', 'robot-9', '--yes')).toMatchObject({ code: 0 })
  expect(readFileSync(theirs, 'utf8')).toBe('')
  expect(statSync(join(dir, 'devices', 'robot-9.key')).mode & 0o777).toBe(0o600)
})

test('a name that is not a device id gets no certificate', async () => {
  for (const name of ['fleet:api', '../x', '+'])
    expect(await certs('issue', name)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('not a device id'),
    })
  expect(await certs('issue')).toMatchObject({ code: 2, stderr: expect.stringContaining('--server') })
  expect(await certs('issue', 'a', '--days', '0')).toMatchObject({ code: 2 })
})
