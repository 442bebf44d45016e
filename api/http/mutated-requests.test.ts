// Requests with changed bytes: whatever they are, they are answered or cut off, and no bug comes of them.
import { connect } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Dice } from '../../engine/sim/dice.ts'
import type { Logger } from '../logger.ts'
import { httpServers } from '../testing/http-server.ts'

const ROUNDS = 300
const AT_ONCE = 20

const openServer = httpServers()
const thrown: unknown[] = []
const note = (error: unknown) => thrown.push(error)
beforeEach(() => {
  process.on('uncaughtException', note)
  process.on('unhandledRejection', note)
})
afterEach(() => {
  process.off('uncaughtException', note)
  process.off('unhandledRejection', note)
})

function samplesWith(token: string): readonly Buffer[] {
  const request = (line: string, headers: readonly string[], body = '') =>
    Buffer.from([`${line} HTTP/1.1`, 'Host: localhost', ...headers, '', body].join('\r\n'))
  const bearer = `Authorization: Bearer ${token}`
  const withJson = (line: string, body: string) =>
    request(line, [bearer, 'Content-Type: application/json', `Content-Length: ${body.length}`], body)
  return [
    request('GET /livez', []),
    request('GET /api/v1/devices?status=online&per_page=5&sort=created_at:DESC', [bearer, 'Accept: */*']),
    request('GET /api/v1/devices/r1', [bearer, 'If-None-Match: "1"', 'Accept-Encoding: gzip']),
    request('GET /api/v1/telemetry/r1/history?metric=a,b&from=-1h&interval=1m', [bearer]),
    withJson('POST /api/v1/devices', '{"device_id":"r1","name":"x","type":"simulator","metadata":{"a":[1]}}'),
    withJson('PATCH /api/v1/devices/r1', '{"tags":["a","b"],"group":"w/a"}'),
    withJson('PUT /api/v1/shadows/r1/desired', '{"a":{"b":1e3},"c":"\\u00e9"}'),
    withJson('POST /api/v1/auth/login', '{"email":"nobody@example.com","password":"x"}'),
    request(
      'POST /api/v1/devices',
      [bearer, 'Content-Type: application/json', 'Transfer-Encoding: chunked'],
      '2\r\n{}\r\n0\r\n\r\n',
    ),
    request('GET /livez', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAAA']),
    request('OPTIONS /api/v1/devices', ['Origin: http://a.example', 'Access-Control-Request-Method: PUT']),
  ]
}

/** Some requests in one piece, most of them with changed bytes, and some cut off. */
function garble(dice: Dice, samples: readonly Buffer[]): Buffer {
  const parts = Array.from({ length: dice.between(1, 4) }, () => {
    const sample = Buffer.from(dice.pick(samples))
    const hits = dice.chance(0.3) ? 0 : dice.between(1, 3)
    for (let hit = 0; hit < hits; hit++) sample[dice.between(0, sample.length - 1)] = dice.between(0, 255)
    return dice.chance(0.1) ? sample.subarray(0, dice.between(0, sample.length - 1)) : sample
  })
  return Buffer.concat(parts)
}

/** Sends the bytes, closes this half, and resolves with all that comes back. */
function exchange(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.end(bytes))
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
  })
}

test('requests with changed bytes are answered without a failure of the service, which goes on', async () => {
  const errors: unknown[] = []
  const logger: Logger = {
    ...{ debug: () => {}, info: () => {}, warn: () => {} },
    error: (...fields: unknown[]) => void errors.push(fields),
  }
  const { http, port, admin } = await openServer({ logger })
  const samples = samplesWith(await admin())
  const failed: string[] = []
  let answered = 0
  for (let from = 0; from < ROUNDS; from += AT_ONCE)
    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, i) => {
        const answer = await exchange(port, garble(new Dice(from + i), samples))
        answered += answer.split('HTTP/1.1 ').length - 1
        if (/HTTP\/1\.1 5/.test(answer)) failed.push(`seed ${from + i}: ${answer.slice(0, 400)}`)
      }),
    )
  expect([failed, errors, thrown]).toEqual([[], [], []])
  expect(answered).toBeGreaterThan(ROUNDS)
  expect((await fetch(`${http.url}/livez`)).status).toBe(200)
})
