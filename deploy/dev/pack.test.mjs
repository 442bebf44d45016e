import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
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
  expect(files.filter((path) => /\.ts$/.test(path))).toEqual([])
})

test('a release starts without a compiler, and its command line answers', { timeout: 60_000 }, async () => {
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
