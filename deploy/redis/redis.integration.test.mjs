// Runs a real Redis with this configuration.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../engine/adapters/testing/free-port.ts'
import { makeSecrets } from '../secrets.mjs'

const { TEST_SERVER_REDIS_SERVER: program } = process.env
const dir = mkdtempSync(join(tmpdir(), 'fleet-redis-conf-'))
const { secrets } = makeSecrets(join(dir, 'secrets'), { isRoot: false })
const clients = []
let server
let port

beforeAll(async () => {
  if (program === undefined) return
  port = await freePort()
  server = await start(port)
})
afterAll(async () => {
  for (const client of clients) client.disconnect()
  server?.kill('SIGKILL')
  await server?.ended
  rmSync(dir, { recursive: true, force: true })
})

const client = (username, password) => {
  const made = new Redis({
    port,
    username,
    password,
    retryStrategy: null,
    maxRetriesPerRequest: 0,
    lazyConnect: true,
    enableReadyCheck: false,
  })
  made.on('error', () => {})
  clients.push(made)
  return made
}

describe.skipIf(program === undefined)('Redis with our configuration', () => {
  test('a client without a password is refused', async () => {
    await expect(client(undefined, undefined).call('PING')).rejects.toThrow('NOAUTH')
    await expect(client('fleet', 'guessed').call('PING')).rejects.toThrow(/WRONGPASS/)
  })

  test('a write is synced before it is answered, and the service can see that', async () => {
    const fleet = client('fleet', secrets.redis_fleet)
    expect(await fleet.config('GET', 'append*')).toEqual(
      expect.arrayContaining(['appendonly', 'yes', 'appendfsync', 'always']),
    )
    expect(await fleet.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction'])
    expect(await fleet.info('persistence')).toContain('aof_enabled:1')
  })

  test('the service can run scripts, publish and read, and cannot empty or reconfigure the server', async () => {
    const fleet = client('fleet', secrets.redis_fleet)
    expect(
      await fleet.eval("redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])", 1, 'k', 'v'),
    ).toBe('v')
    expect(await fleet.publish('channel', 'x')).toBe(0)
    for (const command of [
      ['FLUSHALL'],
      ['CONFIG', 'SET', 'appendonly', 'no'],
      ['SHUTDOWN'],
      ['ACL', 'LIST'],
      ['REPLICAOF', 'NO', 'ONE'],
      ['KEYS', '*'],
    ])
      await expect(fleet.call(...command), command.join(' ')).rejects.toThrow('NOPERM')
  })

  test('the exporter can read figures but no data', async () => {
    const exporter = client('exporter', secrets.redis_exporter)
    expect(await exporter.info('memory')).toContain('maxmemory:3221225472')
    await expect(exporter.get('k')).rejects.toThrow('NOPERM')
  })

  test('nobody can log in as the default user, which has every permission', async () => {
    for (const password of ['', 'nopass', 'default'])
      await expect(client('default', password).call('PING')).rejects.toThrow(/WRONGPASS|NOAUTH/)
    const unnamed = client(undefined, undefined)
    await expect(unnamed.multi().set('forged', '1').exec()).rejects.toThrow()
    await expect(unnamed.eval("return redis.call('SET', 'forged', 1)", 0)).rejects.toThrow('NOAUTH')
    expect(await client('fleet', secrets.redis_fleet).exists('forged')).toBe(0)
  })

  test.each(['SIGKILL', 'SIGTERM'])('acknowledged writes of every kind survive %s', async (signal) => {
    const before = client('fleet', secrets.redis_fleet)
    const script = "redis.call('SET', KEYS[1], ARGV[1]) redis.call('HSET', KEYS[2], 'n', ARGV[1])"
    const numbers = Array.from({ length: 200 }, (_, index) => index)
    const key = (kind, n) => `${signal}:${kind}:${n}`
    await Promise.all(
      numbers.flatMap((n) => [
        before.set(key('alone', n), n),
        before.multi().set(key('first', n), n).set(key('second', n), n).exec(),
        before.eval(script, 2, key('script', n), key('hash', n), n),
      ]),
    )
    server.kill(signal)
    await server.ended
    server = await start(port)
    const after = client('fleet', secrets.redis_fleet)
    const kinds = ['alone', 'first', 'second', 'script', 'hash']
    const counts = await Promise.all(kinds.map((kind) => after.exists(...numbers.map((n) => key(kind, n)))))
    expect(Object.fromEntries(kinds.map((kind, i) => [kind, counts[i]]))).toEqual(
      Object.fromEntries(kinds.map((kind) => [kind, numbers.length])),
    )
  })
})

async function start(at) {
  const conf = readFileSync(new URL('redis.conf', import.meta.url), 'utf8').replace(
    '/run/fleet/',
    `${join(dir, 'secrets')}/`,
  )
  writeFileSync(join(dir, 'redis.conf'), conf)
  const child = spawn(program, [
    join(dir, 'redis.conf'),
    '--port',
    String(at),
    '--bind',
    '127.0.0.1',
    '--dir',
    dir,
  ])
  child.ended = new Promise((resolve) => child.once('close', resolve))
  let said = ''
  await new Promise((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      said += chunk
      if (said.includes('Ready to accept connections')) resolve()
    })
    child.once('close', () => reject(new Error(`redis-server ended: ${said}`)))
  })
  return child
}
