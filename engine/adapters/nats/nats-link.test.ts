import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { type NatsOptions, openNats } from './nats-link.ts'
import { NATS_SERVER, NatsServer, type NatsServerOptions } from './testing/nats-server.ts'

/** A server that reports this version and answers pings. */
async function fakeServer(version: string): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((socket) => {
    socket.write(`INFO ${JSON.stringify({ version, max_payload: 1e8, jetstream: true, headers: true })}\r\n`)
    socket.on('data', (bytes) => {
      if (bytes.includes('PING')) socket.write('PONG\r\n')
    })
    socket.on('error', () => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  return { url: `127.0.0.1:${address.port}`, close: () => server.close() }
}

const open = (url: string, options: Partial<NatsOptions> = {}) =>
  openNats({ servers: [url], durability: 'process', warn: () => {}, ...options })

test.each(['2.9.10', '2.12.5', '2.11.17'])('nats-server %s is refused as too old', async (version) => {
  const server = await fakeServer(version)
  await expect(open(server.url)).rejects.toMatchObject({
    code: 'LOG_UNAVAILABLE',
    retryable: false,
    message: `nats-server ${version} is too old: 2.12.6 or newer is needed`,
  })
  server.close()
})

test('an unreachable server may be tried again', async () => {
  const server = await fakeServer('2.14.0')
  server.close()
  await expect(open(server.url)).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE', retryable: true })
})

describe.skipIf(NATS_SERVER === undefined)('with a nats-server (needs one that `npm test` finds)', () => {
  const servers: NatsServer[] = []
  afterAll(async () => {
    for (const server of servers) await server.remove()
  })

  async function start(options?: NatsServerOptions): Promise<NatsServer> {
    const server = await NatsServer.start(options)
    servers.push(server)
    return server
  }

  test('durability power needs a server that is seen to fsync, and warns if that cannot be seen', async () => {
    const server = await start()
    const warnings: string[] = []
    const warn = (message: string) => warnings.push(message)
    await (await open(server.url, { durability: 'power', monitors: [server.monitor], warn })).close()
    expect(warnings).toEqual([])
    await (await open(server.url, { durability: 'power', warn })).close()
    expect(warnings).toEqual([expect.stringContaining('sync_interval: always')])
    const nobody = 'http://127.0.0.1:1'
    await (await open(server.url, { durability: 'power', monitors: [nobody], warn })).close()
    expect(warnings.slice(1)).toEqual([
      `the monitoring of nats-server at ${nobody} does not answer, so its durability cannot be checked`,
      warnings[0],
    ])
  })

  test('a server that acknowledges before data is on disk is refused for power and accepted for process', async () => {
    const server = await start({ syncInterval: '2m' })
    const monitors = [server.monitor]
    await expect(open(server.url, { durability: 'power', monitors })).rejects.toMatchObject({
      retryable: false,
      message: expect.stringMatching(/sync_interval: always.*FLEET_DURABILITY=process/),
    })
    await (await open(server.url, { durability: 'process', monitors })).close()
  })

  test('a server that accepts only small messages is refused', async () => {
    const server = await start({ maxPayload: '1MB' })
    await expect(open(server.url)).rejects.toThrow('set max_payload to 10MB or more')
  })

  test('wrong credentials are distinguished from an unreachable server', async () => {
    const server = await start({ lines: 'authorization { user: fleet, password: right }' })
    const refused = {
      code: 'LOG_UNAVAILABLE',
      retryable: false,
      message: expect.stringContaining('user and password'),
    }
    await expect(open(server.url, { user: 'fleet', password: 'wrong' })).rejects.toMatchObject(refused)
    await expect(open(server.url)).rejects.toMatchObject(refused)
    await (await open(server.url, { user: 'fleet', password: 'right' })).close()
  })
})
