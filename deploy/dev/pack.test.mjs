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
afterAll(() => rmSync(folder, { recursive: true }))

beforeAll(() => {
  const packed = spawnSync('npm', ['pack', '--silent', '--pack-destination', folder], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect(packed.status, packed.stderr).toBe(0)
  const [tarball] = readdirSync(folder)
  expect(spawnSync('tar', ['-xzf', join(folder, tarball), '-C', folder]).status).toBe(0)
  linkProductionPackages()
}, 120_000)

/** Stands in for `npm ci --omit=dev`, which would fetch the same packages again. */
function linkProductionPackages() {
  const { packages } = JSON.parse(readFileSync(join(release, 'npm-shrinkwrap.json'), 'utf8'))
  for (const [path, { dev, devOptional }] of Object.entries(packages)) {
    const isTop = path.startsWith('node_modules/') && !path.slice(1).includes('/node_modules/')
    if (!isTop || dev || devOptional || !existsSync(join(ROOT, path))) continue
    mkdirSync(dirname(join(release, path)), { recursive: true })
    symlinkSync(join(ROOT, path), join(release, path))
  }
}

test('packing leaves nothing behind that a clone would mistake for a release', () => {
  expect(existsSync(join(ROOT, 'npm-shrinkwrap.json'))).toBe(false)
  expect(existsSync(join(ROOT, 'dist', '.fleet-release'))).toBe(false)
})

test('a release holds the built program, and neither sources nor tests', () => {
  const files = readdirSync(release, { recursive: true }).filter((path) => !path.startsWith('node_modules'))
  expect(files).toContain('dist/api/service/main.js')
  expect(files.filter((path) => /\.test\.|\/testing\/|blackbox/.test(path))).toEqual([])
  expect(files.filter((path) => /\.ts$/.test(path) && !path.endsWith('.d.ts'))).toEqual([])
})

test('a release starts without a compiler, and its command line answers', { timeout: 240_000 }, async () => {
  const version = spawnSync(process.execPath, ['deploy/dev/fleet.mjs', '--version'], {
    cwd: release,
    encoding: 'utf8',
  })
  expect([version.status, version.stdout.trim()]).toEqual([0, '0.1.0'])
  const env = {
    ...process.env,
    FLEET_HTTP_PORT: '0',
    FLEET_MQTT_PORT: '0',
    FLEET_DATA_DIR: join(folder, 'data'),
  }
  const service = spawn(process.execPath, ['deploy/dev/start.mjs'], {
    cwd: release,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => service.once('close', resolve))
  for await (const line of createInterface({ input: service.stdout })) {
    if (!line.includes('"msg":"ready"')) continue
    const { http_url: url } = JSON.parse(line)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    service.kill('SIGTERM')
  }
  expect(await ended).toBe(0)
})

const PROGRAM = `import { FleetDevice, fileStorage } from 'fleet/device'
import { createClient } from 'fleet/client'

const device = new FleetDevice({
  url: 'mqtt://localhost:1883',
  deviceId: 'robot-7',
  token: 'secret',
  firmwareVersion: '1.0.0',
  storage: fileStorage('state'),
})
device.onCommand('dock', async (data, { progress }) => {
  progress(50)
  return { bay: data['bay'] ?? null }
})
const fleet = createClient({ baseUrl: 'http://localhost:8000' })
export async function list(): Promise<string[]> {
  const page = await fleet.listDevices({ query: { group: 'hall' } })
  return page.data.map((each) => each.device_id)
}
// @ts-expect-error a device has an id
new FleetDevice({ url: 'mqtt://localhost:1883', firmwareVersion: '1.0.0' })
`

test('another project imports the device library and the client, with their types', {
  timeout: 240_000,
}, () => {
  const project = join(folder, 'project')
  mkdirSync(join(project, 'node_modules'), { recursive: true })
  symlinkSync(release, join(project, 'node_modules', 'fleet'))
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
  writeFileSync(join(project, 'robot.ts'), PROGRAM)
  const options = [
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--types',
    'node',
    '--outDir',
    'out',
  ]
  const typeRoots = ['--typeRoots', join(ROOT, 'node_modules', '@types')]
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  const compiled = spawnSync(process.execPath, [compiler, ...options, ...typeRoots, 'robot.ts'], {
    cwd: project,
    encoding: 'utf8',
  })
  expect([compiled.status, compiled.stdout]).toEqual([0, ''])
  const program =
    "import('fleet/device').then((d) => import('fleet/client').then((c) => console.log(typeof d.FleetDevice, typeof c.createClient)))"
  const ran = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: project,
    encoding: 'utf8',
  })
  expect([ran.stderr, ran.stdout.trim()]).toEqual(['', 'function function'])
})
