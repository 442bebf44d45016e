// How the service refuses a start with one line, and how it stops.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { ServiceHarness, type Settings, until } from './testing/service.ts'
import { ackedOf, startLoad, storedNumbers } from './testing/service-load.ts'

const DAY_MS = 86_400_000
/** The tests rely on a build made before they run. */
const MAIN = fileURLToPath(new URL('../../dist/program/service.js', import.meta.url))

const harness = new ServiceHarness()
const servers: Server[] = []
afterAll(async () => {
  for (const server of servers) server.close()
  await harness.close()
})

const newDir = () => join(harness.newFolder(), 'data')

function takenPort(): Promise<string> {
  const server = createServer()
  servers.push(server)
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(String(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

function newerDir(): string {
  const dir = newDir()
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'VERSION'), '999\n')
  return dir
}

test('an impossible start ends with one line that names the mistake', async () => {
  const running = await harness.start()
  const port = await takenPort()
  const refused: readonly (readonly [Settings, RegExp])[] = [
    [{ FLEET_DATA_DIR: newerDir() }, /newer version/],
    [{ FLEET_DATA_DIR: running.dataDir }, /in use by another process/],
    [{ FLEET_HTTP_PORT: port }, new RegExp(`port ${port} is in use`)],
    [{ FLEET_MQTT_PORT: port }, new RegExp(`port ${port}.* is in use`)],
    [{ FLEET_HTTP_PORT: 'http' }, /FLEET_HTTP_PORT/],
    [{ FLEET_HEARTBEAT_TIMEOUT_SEC: '0' }, /FLEET_HEARTBEAT_TIMEOUT_SEC/],
    [{ FLEET_DURABILITY: 'maybe' }, /FLEET_DURABILITY.*power, process/],
    [{ FLEET_JWT_SECRET: 'short' }, /FLEET_JWT_SECRET.*32/],
    [{ FLEET_HTTP_PROT: '1' }, /FLEET_HTTP_PROT is not a known setting/],
    [{ FLEET_HOST: '0.0.0.0' }, /FLEET_REGISTRATION/],
    [{ FLEET_HOST: 'not a host' }, /^fleet: FLEET_HOST expected an address or a name of this machine/],
    [{ FLEET_PROFILE: 'cluster', FLEET_JWT_SECRET: 'x'.repeat(32) }, /FLEET_PROFILE/],
    // A file is in place of the directory or of its parent.
    [{ FLEET_DATA_DIR: join(running.dataDir, 'VERSION') }, /data directory/],
    [{ FLEET_DATA_DIR: join(running.dataDir, 'VERSION', 'data') }, /data directory/],
    [{ FLEET_DATA_DIR: join(harness.newFolder(), 'x'.repeat(120)) }, /data directory/],
  ]
  for (const [settings, line] of refused) {
    const { code, stderr, stdout } = await harness.run({ FLEET_DATA_DIR: newDir(), ...settings })
    const what = JSON.stringify(settings)
    expect(code, `${what}: ${stderr}`).toBe(1)
    expect(stderr.trimEnd().split('\n'), what).toHaveLength(1)
    expect(stderr, what).toMatch(line)
    expect(stdout, what).not.toContain('"ready"')
  }
  expect((await running.nobody.get('//readyz')).status).toBe(200)
  // Listening for everyone must be requested explicitly; then the service starts.
  const open = await harness.start({ FLEET_HOST: '0.0.0.0', FLEET_REGISTRATION: 'locked' })
  const account = { email: 'a@example.com', password: 'correct horse', name: 'A', role: 'admin' }
  const locked = await open.nobody.post('/auth/register', account)
  expect(locked).toMatchObject({ status: 403, body: { code: 'REGISTRATION_LOCKED' } })
  for (const service of [running, open]) service.kill('SIGINT')
  expect(await Promise.all([running.ended, open.ended])).toMatchObject([{ code: 0 }, { code: 0 }])
})

test('a file of another user in the data directory ends the start with one line that names it and says what to run', async ({
  skip,
}) => {
  // Root may open every file, so the service runs as somebody else then.
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const canRun = ['-e', 'fs.accessSync(process.argv[1])', MAIN]
  if (spawnSync(process.execPath, canRun, nobody).status !== 0) return skip('nobody may not read the program')
  for (const left of ['store.mdb-lock', 'log/0000000000000001.mdb-lock', 'log']) {
    const folder = harness.newFolder()
    chmodSync(folder, 0o755)
    const dir = join(folder, 'data')
    mkdirSync(join(dir, 'log'), { recursive: true })
    writeFileSync(join(dir, 'VERSION'), '1\n')
    if (left !== 'log') writeFileSync(join(dir, left), '')
    if (nobody.uid !== undefined)
      for (const path of [dir, join(dir, 'VERSION'), join(dir, 'log')])
        chownSync(path, nobody.uid, nobody.gid)
    if (left === 'log' && nobody.uid !== undefined) chownSync(join(dir, left), 0, 0)
    chmodSync(join(dir, left), 0)
    const child = spawn(process.execPath, [MAIN], {
      ...nobody,
      env: { FLEET_DATA_DIR: dir, FLEET_HTTP_PORT: '0', FLEET_MQTT_PORT: '0' },
      stdio: ['ignore', 'inherit', 'pipe'],
    })
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    expect(said).toMatch(/^fleet: the data directory .* may not read and write .*; .* chown -R .*\n$/)
    expect(said).toContain(join(dir, left))
    expect(code).toBe(1)
  }
})

test('SIGTERM while simulated devices are being registered ends the service without a word of an error', async () => {
  const FLEET_DATA_DIR = newDir()
  const service = spawn(process.execPath, [MAIN, '--simulate', '20000'], {
    env: { ...process.env, FLEET_DATA_DIR, FLEET_HTTP_PORT: '0', FLEET_MQTT_PORT: '0' },
  })
  const ended = once(service, 'close')
  let stderr = ''
  service.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  for await (const line of createInterface(service.stdout)) if (line.includes('"msg":"ready"')) break
  service.stdout.resume()
  service.kill('SIGTERM')
  expect([await ended, stderr]).toEqual([[0, null], ''])
})

test('SIGTERM under load ends the service and loses nothing acknowledged', async () => {
  let service = await harness.start()
  let admin = await service.admin()
  const from = Math.floor(Date.now() / 10_000) * 10_000 - 30 * DAY_MS
  const loaders = await startLoad(service, admin, {
    prefix: 'stop',
    devices: 40,
    perSecond: 50,
    window: 50,
    from,
  })
  for (let round = 0; round < 2; round++) {
    const before = ackedOf(loaders)
    await until('the load runs', () => ackedOf(loaders) >= before + 2_000)
    service.kill('SIGTERM')
    expect(await service.ended).toMatchObject({ code: 0, stderr: '' })
    service = await service.again()
    admin = await service.admin()
  }
  await Promise.all(loaders.map((loader) => loader.finish()))
  for (const { deviceId, sent } of loaders) {
    expect((await admin.get(`/telemetry/${deviceId}`)).body['data'], deviceId).toEqual({ n: sent - 1 })
    const numbers = await until(`${deviceId} is stored`, async () => {
      const found = await storedNumbers(admin, deviceId, from, sent)
      return found.length >= sent && found
    })
    expect(numbers, deviceId).toEqual(Array.from({ length: sent }, (_, n) => n))
  }
})

test('a frozen database delays a stop up to a limit, and a second signal ends the service at once', async () => {
  const service = await harness.start()
  const admin = await service.admin()
  const loaders = await startLoad(service, admin, { prefix: 'held', devices: 10, perSecond: 20, window: 5 })
  await until('the load runs', () => ackedOf(loaders) >= 500)
  const frozen = service.databasePid()
  process.kill(frozen, 'SIGSTOP')
  const asked = admin.get('/telemetry/held-0/history?metric=n').catch(() => undefined)
  service.kill('SIGTERM')
  // It would never end if it waited for the database.
  expect(await service.ended).toMatchObject({ code: 0, stderr: '' })
  expect([undefined, 503]).toContain((await asked)?.status)

  const again = await service.again()
  const stuck = again.databasePid()
  process.kill(stuck, 'SIGSTOP')
  again.kill('SIGTERM')
  await until('the drain', () => isDraining(again.httpUrl))
  again.kill('SIGTERM')
  expect((await again.ended).code).toBe(1)
  // A stopped process does not notice the signal.
  process.kill(stuck, 'SIGKILL')
  for (const loader of loaders) loader.stop()
})

test('a stop right after the ready line is orderly, and the log tells of its beginning and its end', async () => {
  const service = await harness.start({ FLEET_LOG_LEVEL: 'info' })
  service.kill('SIGTERM')
  const ended = await service.ended
  expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' })
  expect(ended.stdout).toMatch(/the service stops.*the service has stopped/s)
})

async function isDraining(httpUrl: string): Promise<boolean> {
  try {
    return (await fetch(`${httpUrl}/readyz`)).status === 503
  } catch {
    // The service does not listen any more.
    return true
  }
}
