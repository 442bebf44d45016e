// Runs a real Redis with this configuration.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
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

  test('acknowledged writes survive a kill', async () => {
    const before = client('fleet', secrets.redis_fleet)
    await Promise.all(Array.from({ length: 200 }, (_, index) => before.set(`kept:${index}`, index)))
    server.kill('SIGKILL')
    await server.ended
    server = await start(port)
    expect(
      await client('fleet', secrets.redis_fleet).exists(
        ...Array.from({ length: 200 }, (_, index) => `kept:${index}`),
      ),
    ).toBe(200)
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

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = probe.address()
      probe.close(() => resolve(free))
    })
  })
}
