// Logins of the command line: what is kept of them, and where they are sent.
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { type CommandResult, openCliHarness } from '../cli/testing/cli.ts'
import type { Service } from './testing/service.ts'
import { test } from './testing/shared-service.ts'

const ACCOUNT = { email: 'admin@example.com', password: 'correct horse battery' }
const cli = openCliHarness()
let service: Service

/** Splits a command line into words, none of which contains a blank. */
const fleet = (line: string) => cli.runHere(line.split(' '))

async function urlOf(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // A server that listens on TCP has an address.
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}

test.beforeAll(async ({ service: given }) => {
  service = given
  await service.admin()
  const line = `login --url ${service.httpUrl} --email ${ACCOUNT.email} --password-stdin`
  expect(await cli.run(line.split(' '), { stdin: ACCOUNT.password })).toMatchObject({ code: 0 })
})
afterAll(() => cli.close())

test('a login is stored for its owner alone and never shown', async () => {
  const kept = readFileSync(join(cli.configDir, 'contexts.json'), 'utf8')
  const { session } = JSON.parse(kept).contexts.default
  const said = (await Promise.all([fleet('contexts list'), fleet('contexts list --json'), fleet('doctor')]))
    .map(({ stdout, stderr }: CommandResult) => stdout + stderr)
    .join('')
  expect(said).toContain(ACCOUNT.email)
  for (const token of Object.values(session)) expect(said).not.toContain(token)
})

test('a login with a wrong password fails and is not stored', async () => {
  const line = `login --url ${service.httpUrl} --email ${ACCOUNT.email} --as wrong --password-stdin`
  expect(await cli.run(line.split(' '), { stdin: 'no horse' })).toMatchObject({ code: 4 })
  expect(await fleet('contexts use wrong')).toMatchObject({ code: 3 })
  expect(await cli.run(['login', '--email', 'a@example.com'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--password-stdin'),
  })
})

test('a password that is piped in is taken without an option', async () => {
  const line = `login --url ${service.httpUrl} --email ${ACCOUNT.email} --as piped`
  expect(await cli.run(line.split(' '), { stdin: `${ACCOUNT.password}\n` })).toMatchObject({ code: 0 })
  expect(await fleet('devices list --context piped')).toMatchObject({ code: 0 })
  await fleet('contexts use default')
})

test('a login is sent only to the service that it belongs to', async () => {
  const tokens: unknown[] = []
  const other = createServer((request, response) => {
    tokens.push(request.headers.authorization)
    const problem = { title: 'Unauthenticated', status: 401, code: 'UNAUTHENTICATED', request_id: 'r' }
    response.writeHead(401, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem))
  })
  const url = await urlOf(other)
  expect(await fleet(`--url ${url} devices list`)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('fleet login'),
  })
  expect(await cli.runHere(['devices', 'list'], { env: { FLEET_CLI_URL: url } })).toMatchObject({ code: 4 })
  other.close()
  expect(tokens).toEqual([undefined, undefined])
  const env = { FLEET_CLI_URL: service.httpUrl }
  expect(await cli.runHere(['devices', 'list'], { env })).toMatchObject({ code: 0 })
})

test('an expired access token is renewed and stored', async () => {
  const path = join(cli.configDir, 'contexts.json')
  const before = JSON.parse(readFileSync(path, 'utf8'))
  const { session } = before.contexts.default
  const stale = { ...session, access_token: 'over' }
  writeFileSync(
    path,
    JSON.stringify({ ...before, contexts: { default: { ...before.contexts.default, session: stale } } }),
  )
  expect(await fleet('devices list')).toMatchObject({ code: 0 })
  expect(JSON.parse(readFileSync(path, 'utf8')).contexts.default.session.access_token).toMatch(/^ey/)
})

test('a logout ends the login', async () => {
  const second = openCliHarness()
  const args = ['login', '--url', service.httpUrl, '--email', ACCOUNT.email, '--password-stdin']
  await second.run(args, { stdin: ACCOUNT.password })
  expect(await second.run(['devices', 'list'])).toMatchObject({ code: 0 })
  expect(await second.run(['logout'])).toMatchObject({ code: 0 })
  expect(await second.run(['contexts', 'list', '--json'])).toMatchObject({ stdout: '[]\n' })
  await second.close()
})

test('an API key replaces a login until it is deleted', async () => {
  const made = await fleet('api-keys create ci --role viewer --groups w/a --json')
  const key: { readonly id: string; readonly api_key: string } = JSON.parse(made.stdout)
  const env = { FLEET_CLI_URL: service.httpUrl, FLEET_CLI_TOKEN: key.api_key }
  const second = openCliHarness()
  expect(await second.run(['devices', 'list', '--json'], { env })).toMatchObject({ code: 0 })
  expect(await second.run(['users', 'list'], { env })).toMatchObject({ code: 4 })
  const kept = ['login', '--url', service.httpUrl, '--api-key-stdin']
  expect(await second.run(kept, { stdin: key.api_key })).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('as ci (viewer)'),
  })
  expect(await fleet(`api-keys delete ${key.id} --yes`)).toMatchObject({ code: 0 })
  expect(await second.run(['devices', 'list'])).toMatchObject({ code: 4 })
  await second.close()
})

test('an address that is none of a service is refused with an example', async () => {
  const refused = {
    code: 2,
    stderr:
      'fleet: localhost:8000 is not the URL of a service; expected a URL such as http://localhost:8000\n',
  }
  expect(await fleet('--url localhost:8000 whoami')).toMatchObject(refused)
  expect(await cli.runHere(['whoami'], { env: { FLEET_CLI_URL: 'localhost:8000' } })).toMatchObject(refused)
  expect(await fleet('conformance --service localhost:8000 --token x')).toMatchObject(refused)
  // A slash at the end does not make it another service.
  expect(await fleet(`--url ${service.httpUrl}/ whoami`)).toMatchObject({ code: 0 })
})

test('an unreachable service is reported, also as JSON', async () => {
  const gone = createServer()
  const url = await urlOf(gone)
  gone.close()
  const { code, stdout, stderr } = await fleet(`--url ${url} devices list --json`)
  expect([code, stdout]).toEqual([6, ''])
  expect(JSON.parse(stderr)).toEqual({ error: expect.objectContaining({ exit_code: 6 }) })
  const examination = await fleet(`conformance --service ${url} --token x`)
  expect(examination).toMatchObject({ code: 6, stderr: expect.stringContaining('ECONNREFUSED') })
  const doctor = await fleet(`--url ${url} doctor`)
  expect(doctor).toMatchObject({ code: 1, stdout: expect.stringContaining('service\tbad\t') })
})

test('a report that cannot be written is refused before the checks of many minutes', async () => {
  const path = join(cli.configDir, 'missing', 'report.xml')
  const { code, stdout, stderr } = await fleet(`conformance --device d1 --run true --port 0 --junit ${path}`)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(/^fleet: .*report\.xml cannot be written: ENOENT/)
})
