import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
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

test('files of a CA never follow a link, and only the owner can read keys', async () => {
  const theirs = join(cli.configDir, 'theirs')
  writeFileSync(theirs, '', { mode: 0o666 })
  for (const name of ['ca.crl.new', join('devices', 'robot-9.key.new')]) symlinkSync(theirs, join(dir, name))
  expect(await certs('issue', 'robot-9')).toMatchObject({ code: 0 })
  expect(await certs('revoke', 'robot-9', '--yes')).toMatchObject({ code: 0 })
  expect(readFileSync(theirs, 'utf8')).toBe('')
  expect(statSync(join(dir, 'devices', 'robot-9.key')).mode & 0o777).toBe(0o600)
})

test('requests of devices are signed one by one or as a whole folder, and bad ones are named', async () => {
  const folder = join(cli.configDir, 'requests')
  mkdirSync(folder)
  const make = (id: string) => {
    const [key, csr] = [join(folder, `${id}.key`), join(folder, `${id}.csr`)]
    const args = ['req', '-new', '-nodes', '-newkey', 'ed25519', '-keyout', key, '-subj', `/CN=${id}`]
    execFileSync('openssl', [...args, '-out', csr], { stdio: 'pipe' })
    return csr
  }
  const one = await certs('sign', '--csr', make('robot-a'), '--device', 'robot-1', '--json')
  expect(JSON.parse(one.stdout)).toEqual({
    device_id: 'robot-1',
    certificate: join(dir, 'devices', 'robot-1.crt'),
  })
  make('robot-b')
  expect(await certs('sign', '--csr', folder, '--device', 'robot-1')).toMatchObject({ code: 2 })
  expect(await certs('sign', '--csr', folder)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('signed 2 of 2 requests'),
  })
  writeFileSync(join(folder, 'broken.csr'), 'rubbish')
  expect(await certs('sign', '--csr', folder)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('robot-b.crt'),
    stderr: expect.stringMatching(/signed 2 of 3 requests\n[\s\S]*broken\.csr was not signed: /),
  })
  for (const name of ['robot-a.crt', 'robot-b.crt', 'robot-1.crt'])
    expect([name, existsSync(join(dir, 'devices', name))]).toEqual([name, true])
  expect(existsSync(join(dir, 'devices', 'robot-a.key'))).toBe(false)
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
