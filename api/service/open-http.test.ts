// Tests of the HTTP server on a real socket.

import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { httpServers } from '../testing/http-server.ts'
import { openMetricsPort } from './metrics-port.ts'

const openServer = httpServers()
const requestRates = { perUser: 1_000, perDevice: 100, perAddress: 100, work: 200 }
const start = (httpPort = 0, onlyProbes = false) =>
  openServer({ onlyProbes, settings: { httpPort, requestRates } })

/** Sends bytes and reads until the server hangs up. */
async function raw(port: number, text: string): Promise<string> {
  return await new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.on('data', (chunk) => {
      answer += chunk.toString()
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}

describe('the life of the server', () => {
  test('a server is not ready while starting and draining, but always alive', async () => {
    const { http, engine } = await start()
    const dependencies = [{ name: 'log', ok: true, detail: '' }]
    engine.health = () => dependencies
    const ready = async (query = '') => {
      const response = await fetch(`${http.url}/readyz${query}`)
      return [response.status, await response.json()]
    }
    expect(await ready()).toEqual([503, { status: 'starting' }])
    http.setReady()
    expect(await ready()).toEqual([200, { status: 'ready' }])
    const urls = { http_url: http.url, mqtt_url: engine.mqttUrl() }
    expect(await ready('?verbose')).toEqual([200, { status: 'ready', ...urls, dependencies }])
    engine.health = () => [{ name: 'telemetry', ok: false, detail: 'restarting' }]
    expect(await ready()).toEqual([503, { status: 'degraded' }])
    engine.health = () => []
    http.drain()
    expect(await ready()).toEqual([503, { status: 'draining' }])
    for (const path of ['livez', 'healthz']) {
      const response = await fetch(`${http.url}/${path}`)
      expect([response.status, response.headers.get('connection')]).toEqual([200, 'close'])
    }
  })

  test('a node without the API answers only probes and metrics', async () => {
    const { http } = await start(0, true)
    const statusOf = async (path: string) => (await fetch(`${http.url}${path}`)).status
    http.setReady()
    expect(await Promise.all(['/livez', '/healthz', '/readyz', '/metrics'].map(statusOf))).toEqual([
      200, 200, 200, 200,
    ])
    expect(
      await Promise.all(['/api/v1/auth/me', '/api/v1/devices', '/docs', '/problems'].map(statusOf)),
    ).toEqual([404, 404, 404, 404])
  })

  test('metrics have a port of their own where one is set, and the API has none then', async () => {
    const api = await openServer({ metricsElsewhere: true })
    const { http } = await openServer({}, (options) => openMetricsPort(options, 0))
    http.setReady()
    const statusOf = async (url: string) => (await fetch(url)).status
    expect(await statusOf(`${api.http.url}/metrics`)).toBe(404)
    expect(await statusOf(`${api.http.url}/livez`)).toBe(200)
    const found = await Promise.all(
      ['/metrics', '/readyz', '/livez', '/api/v1/devices', '/docs'].map((path) =>
        statusOf(`${http.url}${path}`),
      ),
    )
    expect(found).toEqual([200, 200, 200, 404, 404])
    const { port } = new URL(http.url)
    const taken = openServer({}, (options) => openMetricsPort(options, Number(port)))
    await expect(taken).rejects.toMatchObject({
      message: `port ${port} is in use; set FLEET_METRICS_PORT to another one`,
    })
  })

  test('metrics need their token where one is set', async () => {
    const { http, admin } = await openServer({ metricsToken: 'sixteen-letters!' })
    const get = async (authorization?: string) =>
      await fetch(`${http.url}/metrics`, authorization === undefined ? {} : { headers: { authorization } })
    expect((await get('Bearer sixteen-letters!')).status).toBe(200)
    for (const wrong of [
      undefined,
      'Bearer sixteen-letters',
      'sixteen-letters!',
      `Bearer ${await admin()}`,
    ]) {
      const refused = await get(wrong)
      expect([refused.status, refused.headers.has('www-authenticate')]).toEqual([401, true])
      expect(await refused.json()).toMatchObject({
        code: 'UNAUTHENTICATED',
        detail: expect.stringContaining('FLEET_METRICS_TOKEN'),
      })
    }
    expect((await fetch(`${http.url}/readyz`)).status).toBe(503)
  })

  test('a port in use is reported in one line', async () => {
    const { port } = await start()
    await expect(start(port)).rejects.toMatchObject({
      code: 'PORT_IN_USE',
      message: `port ${port} is in use; set FLEET_HTTP_PORT to another one`,
    })
  })

  test('closing hangs up on idle connections and frees the port', async () => {
    const { http, port } = await start()
    await fetch(`${http.url}/livez`)
    await http.close()
    await start(port)
  })

  test('requests that a client sends at once are carried out one after the other', async () => {
    const { http, port, admin, engine } = await openServer()
    const head = `GET /api/v1/system HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${await admin()}\r\n`
    const count = { running: 0, most: 0 }
    engine.system = async () => {
      count.running++
      count.most = Math.max(count.most, count.running)
      await fetch(`${http.url}/livez`)
      count.running--
      return { nodes: [], log: undefined }
    }
    const answers = await raw(port, `${`${head}\r\n`.repeat(19)}${head}Connection: close\r\n\r\n`)
    expect([answers.split('HTTP/1.1 200').length - 1, count.most]).toEqual([20, 1])
  })

  test('a websocket upgrade reaches the listener', async () => {
    const { http, port } = await start()
    http.server.on('upgrade', (_, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\nhello'))
    const answer = await raw(
      port,
      'GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    expect(answer).toContain('hello')
  })
})

describe('bytes that are not a request, or not one that is served,', () => {
  test.each([
    [
      'a method that nobody knows',
      'QUERY /api/v1/devices HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      '405',
      'METHOD_NOT_ALLOWED',
    ],
    [
      'two hosts',
      'GET /api/v1/devices HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\nConnection: close\r\n\r\n',
      '400',
      'BAD_REQUEST',
    ],
    ['nonsense', 'hello\r\n\r\n', '400', 'BAD_REQUEST'],
    ['no host', 'GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n', '400', 'BAD_REQUEST'],
    [
      'an unknown method whose body never comes',
      'QUERY /api/v1/devices HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 9\r\n\r\n{',
      '405',
      'METHOD_NOT_ALLOWED',
    ],
    [
      'a path that nobody knows',
      'OPTIONS /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      '404',
      'NOT_FOUND',
    ],
    [
      'a request to be a proxy',
      'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n',
      '405',
      'METHOD_NOT_ALLOWED',
    ],
    [
      'an expectation that nobody knows',
      'POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: tea\r\nContent-Length: 2\r\n\r\n{}',
      '400',
      'BAD_REQUEST',
    ],
    [
      'a token of 100 KiB',
      `GET /api/v1/auth/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${'x'.repeat(102_400)}\r\n\r\n`,
      '431',
      'HEADERS_TOO_LARGE',
    ],
    [
      'two lengths',
      'POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      '400',
      'BAD_REQUEST',
    ],
    [
      'a length and chunks',
      'POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      '400',
      'BAD_REQUEST',
    ],
    [
      'chunks under another name',
      'POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n',
      '400',
      'BAD_REQUEST',
    ],
    [
      'a blank before a colon',
      'POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length : 4\r\n\r\nabcd',
      '400',
      'BAD_REQUEST',
    ],
    [
      'a folded header',
      'GET /livez HTTP/1.1\r\nHost: x\r\nX-A: b\r\n\tc: d\r\n e\r\n\r\nGET',
      '400',
      'BAD_REQUEST',
    ],
  ])('%s are answered with a problem', async (_, text, status, code) => {
    const { port } = await start()
    const answer = await raw(port, text)
    expect(answer.slice(0, 13)).toBe(`HTTP/1.1 ${status} `)
    expect(answer).toContain('application/problem+json')
    const problem = JSON.parse(answer.slice(answer.indexOf('{')))
    expect(problem).toMatchObject({ code, request_id: expect.any(String) })
    // The detail is about the bytes and does not mention JSON, because there was none.
    expect(problem.detail).not.toContain('JSON')
  })

  test('a request that does not arrive in time is answered, and its connection is closed', async () => {
    const { http, port } = await start()
    const taken = once(http.server, 'connection')
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () =>
      socket.write('GET /livez HT'),
    )
    const [held] = await taken
    const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
    http.server.emit('clientError', late, held)
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toContain('HTTP/1.1 408 REQUEST_TIMEOUT')
    if (!held.destroyed) await once(held, 'close')
    socket.destroy()
  })

  test('a client of HTTP/1.0 may omit the host', async () => {
    const { port } = await start()
    expect(await raw(port, 'GET /livez HTTP/1.0\r\n\r\n')).toContain('{"status":"live"}')
  })
})

describe('operational endpoints', () => {
  test('metrics are Prometheus text', async () => {
    const { http } = await start()
    const response = await fetch(`${http.url}/metrics`)
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(await response.text()).toMatch(/^# TYPE fleet_\w+ \w+$/m)
  })
})
