import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { openHarness } from '../testing/rest.ts'
import { readAssets } from './assets.ts'
import { createDashboard } from './serve.ts'

const INDEX = '<!doctype html><script type="module" src="/assets/index-a1B2c3D4.js"></script>'
const SCRIPT = `console.log("${'fleet '.repeat(100)}")`
const PAGE = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function built(more: Readonly<Record<string, string | Buffer>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-dashboard-'))
  folders.push(folder)
  mkdirSync(join(folder, 'assets'))
  mkdirSync(join(folder, '.vite'))
  const files = {
    'index.html': INDEX,
    'assets/index-a1B2c3D4.js': SCRIPT,
    'assets/index-a1B2c3D4.js.br': brotliCompressSync(SCRIPT),
    'assets/index-a1B2c3D4.js.gz': gzipSync(SCRIPT),
    '.vite/manifest.json': '{}',
    'assets/index-a1B2c3D4.js.map': '{}',
    ...more,
  }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  return folder
}

function serving(folder = built(), options: Parameters<typeof openHarness>[0] = {}) {
  const pages = createDashboard(readAssets(folder, 10_000))
  const { app, login } = openHarness({ ...options, pages })
  const get = async (url: string, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await app.inject({ method: 'GET', url, headers })
    return {
      status: answer.statusCode,
      headers: answer.headers,
      bytes: answer.rawPayload,
      text: answer.payload,
    }
  }
  return { app, build: pages.build, get, login }
}

describe('the page of the dashboard', () => {
  test.each(['/', '/devices', '/devices/robot-7/telemetry?from=-1h', '/login', '/ota', '/apis'])(
    'a browser at %s gets the page',
    async (url) => {
      const { status, headers, text } = await serving().get(url, PAGE)
      expect([status, headers['content-type'], text]).toEqual([200, 'text/html; charset=utf-8', INDEX])
      expect(headers['cache-control']).toBe('no-cache')
    },
  )

  test.each([
    ...['/api', '/api/v1/nothing', '/ws/x', '/docs/nothing', '/problems/nothing', '/metrics/x', '/livez/x'],
    ...[
      '/readyz/x',
      '/healthz/x',
      '/.well-known/x',
      '/assets/nothing-a1B2c3D4.js',
      '/assets',
      '/ota/artifacts/x',
    ],
  ])('what is missing at %s stays a problem', async (url) => {
    const { status, headers } = await serving().get(url, PAGE)
    expect([status, headers['content-type']]).toEqual([404, 'application/problem+json; charset=utf-8'])
  })

  test('a program that asks for no page gets a problem, and so does a POST', async () => {
    const { app, get } = serving()
    expect((await get('/devices', { accept: 'application/json' })).status).toBe(404)
    expect((await get('/')).status).toBe(404)
    const posted = await app.inject({ method: 'POST', url: '/devices', headers: PAGE })
    expect(posted.statusCode).toBe(404)
  })

  test('no path reaches the file system or what the build keeps for itself', async () => {
    const { get } = serving()
    for (const path of [
      '/.vite/manifest.json',
      '/assets/index-a1B2c3D4.js.map',
      '/assets/index-a1B2c3D4.js.br',
    ])
      expect((await get(path)).status).toBe(404)
    for (const path of [
      '/assets/../index.html',
      '/assets/%2e%2e/package.json',
      '/assets/..%2f..%2fpackage.json',
    ])
      expect((await get(path)).text).not.toContain('"dependencies"')
  })

  test('the page runs nothing but the files of the service, and asks for nothing else', async () => {
    const { headers } = await serving().get('/', PAGE)
    const policy = String(headers['content-security-policy'])
    expect(policy).toMatch(/^default-src 'none'; script-src 'self';/)
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types fleet")
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    expect(headers['permissions-policy']).toContain('camera=()')
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' })
  })

  test('pages are isolated on loopback and over TLS, and not where browsers would complain', async () => {
    const { get } = serving(undefined, { trustedProxies: ['127.0.0.1'] })
    const isolation = async (more: Readonly<Record<string, string>>) => {
      const { headers } = await get('/', { ...PAGE, ...more })
      return [headers['cross-origin-opener-policy'], headers['cross-origin-embedder-policy']]
    }
    const isolated = ['same-origin', 'require-corp']
    expect(await isolation({ host: 'localhost:8000' })).toEqual(isolated)
    expect(await isolation({ host: 'fleet.example.com', 'x-forwarded-proto': 'https' })).toEqual(isolated)
    expect(await isolation({ host: '192.168.1.7:8000' })).toEqual([undefined, undefined])
  })
})

describe('files of the dashboard', () => {
  const FILE = '/assets/index-a1B2c3D4.js'

  test.each([
    ['br, gzip', 'br'],
    ['gzip, deflate', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['*', 'br'],
    ['identity', undefined],
    ['', undefined],
  ])('for "%s" the file is sent in the form %s', async (accepted, form) => {
    const { get } = serving()
    const { headers, bytes } = await get(FILE, { 'accept-encoding': accepted })
    expect(headers['content-encoding']).toBe(form)
    const plain = form === 'br' ? brotliDecompressSync(bytes) : form === 'gzip' ? gunzipSync(bytes) : bytes
    expect(plain.toString()).toBe(SCRIPT)
    expect(headers['vary']).toMatch(/accept-encoding/)
    expect(headers['content-type']).toBe('text/javascript; charset=utf-8')
  })

  test('a hashed file is kept for a year, the page is asked for again, and a tag saves its bytes', async () => {
    const { get } = serving()
    const file = await get(FILE)
    expect(file.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    const page = await get('/', PAGE)
    const again = await get('/', { ...PAGE, 'if-none-match': String(page.headers.etag) })
    expect([again.status, again.text]).toEqual([304, ''])
    const other = await get('/', { ...PAGE, 'if-none-match': '"other"' })
    expect(other.status).toBe(200)
    const coded = await get(FILE, { 'accept-encoding': 'br' })
    expect(coded.headers.etag).not.toBe(file.headers.etag)
  })

  test('a HEAD has the headers and no bytes', async () => {
    const { app } = serving()
    const { statusCode, headers, payload } = await app.inject({ method: 'HEAD', url: FILE })
    expect([statusCode, headers['etag'] === undefined, payload]).toEqual([200, false, ''])
  })
})

describe('the build of the dashboard', () => {
  test('every answer names the build, and another build has another name', async () => {
    const [{ get, login, build }, other] = [serving(), serving(built({ 'index.html': '<!doctype html>' }))]
    expect(build).toMatch(/^[0-9a-f]{12}$/)
    expect(other.build).not.toBe(build)
    const { token } = await login('viewer')
    for (const [url, headers] of [
      ['/', PAGE],
      ['/api/v1/auth/me', { authorization: `Bearer ${token}` }],
      ['/api/v1/nothing', {}],
    ] as const)
      expect((await get(url, headers)).headers['x-fleet-build']).toBe(build)
  })

  test('without a build the first page says what to run, and the API works', async () => {
    const { get } = serving('/nowhere')
    const { status, text, headers } = await get('/', PAGE)
    expect(status).toBe(503)
    expect(text).toContain('npm run build')
    expect(headers['x-fleet-build']).toBeUndefined()
    expect((await get('/devices', PAGE)).status).toBe(404)
    expect((await get('/livez')).status).toBe(200)
  })

  test('a build that is too large is not held', async () => {
    const folder = built({ 'assets/large-a1B2c3D4.js': 'x'.repeat(10_000) })
    expect(readAssets(folder, 10_000)).toMatchObject({ kind: 'too_large' })
    const { text } = await serving(folder).get('/', PAGE)
    expect(text).toContain('larger than the service holds')
  })
})
