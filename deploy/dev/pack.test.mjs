import { spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROOT } from './prepare.mjs'

const folder = mkdtempSync(join(tmpdir(), 'fleet-pack-'))
const release = join(folder, 'package')
const project = join(folder, 'project')
const manifest = readFileSync(join(ROOT, 'package.json'), 'utf8')
let tarball
/** The reason if npm could not install the release because the registry is unreachable. */
let offline

afterAll(() => rmSync(folder, { recursive: true }))

beforeAll(() => {
  // The remains of an `npm pack` that was killed must not be an obstacle.
  mkdirSync(join(ROOT, 'dist'), { recursive: true })
  writeFileSync(join(ROOT, 'dist', 'package.whole.json'), '{}')
  const packed = spawnSync('npm', ['pack', '--silent', '--pack-destination', folder], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect(packed.status, packed.stderr).toBe(0)
  tarball = join(folder, readdirSync(folder)[0])
  expect(spawnSync('tar', ['-xzf', tarball, '-C', folder]).status).toBe(0)
  linkServicePackages()
  installInProject()
}, 240_000)

/** Replaces `npm ci` in `dist/`, which would download the same packages again. */
function linkServicePackages() {
  const dist = join(release, 'dist')
  const { packages } = JSON.parse(readFileSync(join(dist, 'npm-shrinkwrap.json'), 'utf8'))
  for (const path of Object.keys(packages)) {
    const isTop = path.startsWith('node_modules/') && !path.slice(1).includes('/node_modules/')
    if (!isTop || !existsSync(join(ROOT, path))) continue
    mkdirSync(dirname(join(dist, path)), { recursive: true })
    symlinkSync(join(ROOT, path), join(dist, path))
  }
}

function installInProject() {
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', '--fetch-retries=1']
  const { status, stderr } = spawnSync('npm', ['install', ...flags, tarball], {
    cwd: project,
    encoding: 'utf8',
  })
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/.test(stderr)) offline = stderr
  else expect([status, stderr]).toEqual([0, ''])
}

test('packing leaves nothing behind that would make a clone look like a release', () => {
  expect(readFileSync(join(ROOT, 'package.json'), 'utf8')).toBe(manifest)
  const left = ['.fleet-release', 'package.json', 'package.whole.json', 'npm-shrinkwrap.json']
  expect(left.filter((name) => existsSync(join(ROOT, 'dist', name)))).toEqual([])
})

test('a release holds the built program, and neither sources nor tests', () => {
  const files = readdirSync(release, { recursive: true }).filter((path) => !path.includes('node_modules'))
  expect(files).toContain('dist/program/service.js')
  expect(files.filter((path) => /\.test\.|\/testing\/|blackbox/.test(path))).toEqual([])
  expect(files.filter((path) => /\.ts$/.test(path) && !path.endsWith('.d.ts'))).toEqual([])
})

test('a release names the packages of the service for its first start, in the versions of the lock file', () => {
  const { dependencies } = JSON.parse(manifest)
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages
  const listed = JSON.parse(readFileSync(join(release, 'dist', 'package.json'), 'utf8'))
  const { packages } = JSON.parse(readFileSync(join(release, 'dist', 'npm-shrinkwrap.json'), 'utf8'))
  expect(listed.dependencies).toEqual(dependencies)
  for (const name of Object.keys(dependencies))
    expect(packages[`node_modules/${name}`]).toEqual(lock[`node_modules/${name}`])
  expect(packages).not.toHaveProperty(['node_modules/vitest'])
})

test('a project that has the release as a dependency gets no package that only the service needs', (context) => {
  context.skip(offline !== undefined, offline)
  const { dependencies } = JSON.parse(manifest)
  const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'))
  const tree = Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, ''))
  expect(tree).toContain('fleet')
  const brought = Object.keys(dependencies).filter((name) => tree.includes(name))
  expect(brought).toEqual(['commander', 'mqtt', 'mqtt-packet', 'typebox', 'ws', 'yaml'])
  expect(existsSync(join(project, 'node_modules', 'fleet', 'dist', 'node_modules'))).toBe(false)
})

const PROGRAM = `import { FleetDevice, fileStorage } from 'fleet/device'
import { createClient } from 'fleet/client'

const [httpUrl = '', mqttUrl = '', email = '', password = ''] = process.argv.slice(2)
const fleet = createClient({ baseUrl: httpUrl, credentials: { email, password } })
const registered = await fleet.registerDevice({
  body: { device_id: 'robot-7', name: 'Robot', type: 'ros2_robot' },
})
const device = new FleetDevice({
  url: mqttUrl,
  deviceId: 'robot-7',
  token: registered.access_token,
  firmwareVersion: '1.0.0',
  storage: fileStorage('state'),
})
device.onCommand('dock', async (data, { progress }) => {
  progress(50)
  return { bay: data['bay'] ?? null }
})
await device.connect()
await device.telemetry({ temperature: 21.5 })
let online: string[] = []
// The list is updated a moment after the acknowledgement.
while (online.length === 0) {
  await new Promise((resolve) => setTimeout(resolve, 20))
  const page = await fleet.listDevices({ query: { status: 'online' } })
  online = page.data.map((each) => each.device_id)
}
console.log(online)
await device.close()
// @ts-expect-error a device has an id
export const wrong = () => new FleetDevice({ url: mqttUrl, firmwareVersion: '1.0.0' })
`

test('another project compiles with the types of the device library and of the client', (context) => {
  context.skip(offline !== undefined, offline)
  writeFileSync(join(project, 'robot.ts'), PROGRAM)
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  const options = '--strict --module nodenext --target es2023 --types node --outDir out'.split(' ')
  const compiled = spawnSync(process.execPath, [compiler, ...options, 'robot.ts'], {
    cwd: project,
    encoding: 'utf8',
  })
  expect([compiled.status, compiled.stdout]).toEqual([0, ''])
})

test('the command line of such a project runs devices and bridges without the packages of the service', (context) => {
  context.skip(offline !== undefined, offline)
  for (const args of [
    ['--version'],
    ['bridge', 'ros', '--help'],
    ['simulate', '--help'],
    ['devices', '--help'],
  ]) {
    const program = join(project, 'node_modules', '.bin', 'fleet')
    const { status, stderr } = spawnSync(program, args, { cwd: project, encoding: 'utf8' })
    expect([args, status, stderr]).toEqual([args, 0, ''])
  }
})

test('a release starts without a compiler, and a device of another project connects to it', {
  timeout: 240_000,
}, async () => {
  const env = {
    ...process.env,
    FLEET_HTTP_PORT: '0',
    FLEET_MQTT_PORT: '0',
    FLEET_DATA_DIR: join(folder, 'data'),
    FLEET_ADMIN_EMAIL: 'admin@example.com',
    FLEET_ADMIN_PASSWORD: 'correct horse battery',
  }
  // Like `fleet start` of the command line, which starts a release as `npm start` does.
  const service = spawn(process.execPath, ['deploy/dev/fleet.mjs', 'start'], {
    cwd: release,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => service.once('close', resolve))
  let printed
  for await (const line of createInterface({ input: service.stdout })) {
    if (!line.includes('"msg":"ready"')) continue
    const { http_url: httpUrl, mqtt_url: mqttUrl } = JSON.parse(line)
    const urls = [httpUrl, mqttUrl, env.FLEET_ADMIN_EMAIL, env.FLEET_ADMIN_PASSWORD]
    if (offline === undefined) printed = await output(['out/robot.js', ...urls])
    expect((await fetch(`${httpUrl}/readyz`)).status).toBe(200)
    service.kill('SIGTERM')
  }
  expect(await ended).toBe(0)
  if (offline === undefined) expect(printed).toBe("[ 'robot-7' ]\n")
})

/** Asynchronous, because the pipe of the service has to be read meanwhile. */
function output(args) {
  const program = spawn(process.execPath, args, { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  program.stdout.setEncoding('utf8').on('data', (more) => {
    text += more
  })
  return new Promise((resolve) => program.once('close', () => resolve(text)))
}
