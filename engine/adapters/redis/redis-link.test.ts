import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { REDIS_SERVER, RedisServer } from './testing/redis-server.ts'

describe.skipIf(REDIS_SERVER === undefined)('with a redis-server (needs one in the PATH)', () => {
  const SECRET = 'hunter2-of-the-test'

  let server: RedisServer | undefined
  afterEach(() => server?.stop())

  async function start(...over: readonly string[]): Promise<RedisServer> {
    server = await RedisServer.start([
      '--appendonly',
      'yes',
      '--appendfsync',
      'always',
      '--save',
      '',
      ...over,
    ])
    return server
  }

  describe('a Redis is refused at the start', () => {
    test.each([
      ['that does not persist data', ['--appendonly', 'no'], 'set "appendonly yes"'],
      [
        'that acknowledges too early',
        ['--appendfsync', 'everysec'],
        'set "appendfsync always" instead of everysec',
      ],
      [
        'that evicts keys',
        ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'],
        'set "maxmemory-policy noeviction" instead of allkeys-lru',
      ],
      ['that is a replica', ['--replicaof', '127.0.0.1 1'], 'is a replica'],
      ['that is a cluster', ['--cluster-enabled', 'yes'], 'is a Redis Cluster'],
    ])('a Redis %s is refused at start', async (_, settings, line) => {
      const { message, code, retryable } = await refusal(await start(...settings))
      expect([code, retryable]).toEqual(['STORE_UNAVAILABLE', false])
      expect(message).toContain(line)
      expect(message).not.toContain('\n')
    })

    test('an unreachable Redis is named by its address, without its password', async () => {
      const down = await start()
      await down.kill()
      const { message, retryable } = await refusal(down, `redis://user:${SECRET}@127.0.0.1:${down.port}`)
      expect(message).toMatch(new RegExp(`^Redis at 127.0.0.1:${down.port} cannot be used: .*`))
      expect(message).not.toContain(SECRET)
      expect(retryable).toBe(true)
    })

    test('a wrong password is refused and appears in no error', async () => {
      const one = await start('--requirepass', 'right')
      const refused = await refusal(one, `redis://:${SECRET}@127.0.0.1:${one.port}`)
      expect(refused.message).toContain('check user and password in the URL')
      expect(refused.retryable).toBe(false)
      expect(JSON.stringify([refused, { ...refused }, String(refused.cause)])).not.toContain(SECRET)
      expect((await refusal(one)).message).toContain('the URL needs a password')
    })
  })

  test('a Redis whose provider forbids CONFIG is checked by INFO', async () => {
    const rules = ['+@all', '-@admin', '-@dangerous', '+info']
    const one = await start('--user', 'fleet', 'on', `>${SECRET}`, '~*', '&*', ...rules)
    await one.link({ url: `redis://fleet:${SECRET}@127.0.0.1:${one.port}` })
  })

  test('TLS accepts only certificates of the given CA', async () => {
    const keys = mkdtempSync(join(tmpdir(), 'fleet-redis-keys-'))
    onTestFinished(() => rmSync(keys, { recursive: true, force: true }))
    const file = (name: string) => join(keys, name)
    const names = ['-subj', '/CN=redis', '-addext', 'subjectAltName=IP:127.0.0.1']
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-x509', '-days', '2']
    const out = ['-keyout', file('key.pem'), '-out', file('cert.pem')]
    execFileSync('openssl', ['req', ...made, ...names, ...out], { stdio: 'ignore' })
    const tls = [
      '--tls-cert-file',
      file('cert.pem'),
      '--tls-key-file',
      file('key.pem'),
      '--tls-auth-clients',
      'no',
    ]
    const one = await start(
      '--port',
      '0',
      ...tls,
      '--tls-ca-cert-file',
      file('cert.pem'),
      '--tls-port',
      'PORT',
    )
    const url = `rediss://127.0.0.1:${one.port}`
    await one.link({ url, tlsCa: readFileSync(file('cert.pem'), 'utf8') })
    expect((await refusal(one, url)).message).toContain('self-signed certificate')
  })

  async function refusal(one: RedisServer, url = one.url) {
    const error: unknown = await one.link({ url }).then(
      () => undefined,
      (refused: unknown) => refused,
    )
    if (!(error instanceof Error)) throw new Error('it was not refused')
    // A `Fault`, as the tests look at it.
    return error as Error & { readonly code?: string; readonly retryable?: boolean }
  }
})
