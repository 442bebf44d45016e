import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { parseAllowList } from '../../domain/outbound/allow-list.ts'
import { GuardedHttp } from './guarded-http.ts'

const REQUEST = { method: 'POST', headers: { 'x-mark': 'yes' }, body: '{}' } as const

interface Sink {
  readonly port: number
  readonly seen: IncomingMessage[]
}

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** Every spelling of an address that is not public, as a URL. */
const FORBIDDEN = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '127.255.255.254',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0x7F.0x0.0x0.0x1',
  ],
  ...[
    '017700000001',
    '0177.0.0.1',
    '0177.0.0.01',
    '127.0.0.1.',
    '①②⑦.⓪.⓪.①',
    '127。0。0。1',
    '127%2E0%2E0%2E1',
  ],
  ...[
    '0',
    '0.0.0.0',
    '0x0',
    '00',
    '0.1.2.3',
    '10.0.0.1',
    '167772161',
    '012.0.0.1',
    '10.255.255.255',
    '172.16.0.1',
  ],
  ...[
    '172.31.255.255',
    '0xac.16.0.1',
    '192.168.0.1',
    '192.168.1.254',
    '0xc0a80001',
    '3232235521',
    '100.64.0.1',
  ],
  ...[
    '100.127.255.255',
    '169.254.169.254',
    '0xa9fea9fe',
    '2852039166',
    '169.254.0.1',
    '192.0.0.192',
    '192.0.0.1',
  ],
  ...['192.0.2.1', '198.51.100.7', '203.0.113.5', '198.18.0.1', '198.19.255.255', '192.88.99.1', '224.0.0.1'],
  ...[
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '100.100.100.200',
    '[::]',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
  ],
  ...['[0000:0000:0000:0000:0000:0000:0000:0001]', '[::127.0.0.1]', '[::7f00:1]', '[::ffff:127.0.0.1]'],
  ...['[::ffff:7f00:1]', '[0:0:0:0:0:ffff:7f00:0001]', '[::ffff:10.0.0.1]', '[::ffff:169.254.169.254]'],
  ...[
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b::a9fe:a9fe]',
    '[64:ff9b:1::1]',
  ],
  ...[
    '[2002:7f00:1::]',
    '[2002:c0a8:1::1]',
    '[2002:a9fe:a9fe::]',
    '[2001::1]',
    '[2001:0:7f00:1::]',
    '[fc00::1]',
  ],
  ...[
    '[fd00::1]',
    '[fd00:ec2::254]',
    '[fe80::1]',
    '[fec0::1]',
    '[ff02::1]',
    '[ff0e::1]',
    '[100::1]',
    '[2001:db8::1]',
  ],
  ...['[3fff::1]', '[5f00::1]', '[4000::1]', '[2606:4700::5efe:7f00:1]', '[2606:4700::200:5efe:192.168.0.1]'],
]

describe('addresses', () => {
  test('there are more spellings here than anybody asked for', () => {
    expect(new Set(FORBIDDEN).size).toBeGreaterThanOrEqual(60)
  })

  test.each(FORBIDDEN)('http://%s/ is judged and not connected to', async (host) => {
    const http = new GuardedHttp({ allow: [] })
    const url = `http://${host}/`
    expect(await http.judge(url)).toMatchObject({ kind: 'forbidden' })
    expect(await http.send({ ...REQUEST, url })).toEqual({ kind: 'blocked' })
  })

  test.each(['8.8.8.8', '1.1.1.1', '[2606:4700:4700::1111]', '[::ffff:8.8.8.8]', '[64:ff9b::808:808]'])(
    'http://%s/ is public',
    async (host) => {
      expect(await new GuardedHttp({ allow: [] }).judge(`http://${host}/`)).toEqual({ kind: 'allowed' })
    },
  )

  test.each([
    'ftp://8.8.8.8/',
    'file:///etc/passwd',
    'http://user@8.8.8.8/',
    'http://:pw@8.8.8.8/',
    'gopher://8.8.8.8',
    '//8.8.8.8',
  ])('%s is no address to send to', async (url) => {
    const http = new GuardedHttp({ allow: [] })
    expect(await http.judge(url)).toMatchObject({ kind: 'forbidden' })
    expect(await http.send({ ...REQUEST, url })).toEqual({ kind: 'blocked' })
  })
})

describe('names', () => {
  test('every address of a name has to be public', async () => {
    for (const addresses of [
      ['8.8.8.8', '127.0.0.1'],
      ['::1'],
      ['2606:4700::1', 'fd00::1'],
      ['8.8.8.8', '::ffff:10.0.0.1'],
    ])
      expect(await guarded(addresses).send({ ...REQUEST, url: 'http://two.example.com/' })).toEqual({
        kind: 'blocked',
      })
    expect(await guarded(['8.8.8.8', '2606:4700::1']).judge('http://two.example.com/')).toEqual({
      kind: 'allowed',
    })
  })

  test('localhost and its kind are names like any other, and resolve to this machine', async () => {
    for (const host of ['localhost', 'localhost.', 'LOCALHOST'])
      expect(await new GuardedHttp({ allow: [] }).judge(`http://${host}/`)).toMatchObject({
        kind: 'forbidden',
      })
  })

  test('a name that means something else when it is sent to is judged again', async () => {
    const sink = await listen()
    const answers = [['8.8.8.8'], ['127.0.0.1']]
    const http = new GuardedHttp({ allow: [], resolve: async () => answers.shift() ?? [] })
    const url = `http://rebinding.example.com:${sink.port}/`
    expect(await http.judge(url)).toEqual({ kind: 'allowed' })
    expect(await http.send({ ...REQUEST, url })).toEqual({ kind: 'blocked' })
    expect(sink.seen).toEqual([])
  })

  test('the connection goes to the address that was judged, under the name of the host', async () => {
    const sink = await listen()
    let asked = 0
    const http = new GuardedHttp({
      allow: allow(`sink.invalid:${sink.port}`),
      resolve: async () => (++asked === 1 ? ['127.0.0.1'] : ['10.255.255.1']),
    })
    const answer = await http.send({ ...REQUEST, url: `http://sink.invalid:${sink.port}/hook?x=1` })
    expect(answer).toEqual({ kind: 'answered', status: 204, retryAfterSec: undefined })
    expect(asked).toBe(1)
    expect(sink.seen[0]).toMatchObject({ method: 'POST', url: '/hook?x=1' })
    expect(sink.seen[0]?.headers).toMatchObject({ host: `sink.invalid:${sink.port}`, 'x-mark': 'yes' })
  })

  test('a name without an address is told from a forbidden one', async () => {
    const http = new GuardedHttp({ allow: [], resolve: () => Promise.reject(new Error('ENOTFOUND')) })
    expect(await http.judge('http://nowhere.invalid/')).toEqual({ kind: 'unresolved' })
    expect(await http.send({ ...REQUEST, url: 'http://nowhere.invalid/' })).toEqual({
      kind: 'failed',
      code: 'DNS',
    })
  })
})

describe('answers', () => {
  test('a redirect to this machine is not followed', async () => {
    const inner = await listen()
    const sink = await listen(302, { location: `http://127.0.0.1:${inner.port}/` })
    const http = new GuardedHttp({ allow: allow(`127.0.0.1:${sink.port}`) })
    const answer = await http.send({ ...REQUEST, url: `http://127.0.0.1:${sink.port}/` })
    expect(answer).toMatchObject({ kind: 'answered', status: 302 })
    expect(inner.seen).toEqual([])
  })

  test.each([
    ['7', 7],
    ['999999', 3_600],
    ['soon', undefined],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
  ])('Retry-After: %s is honoured up to an hour', async (text, sec) => {
    const sink = await listen(503, { 'retry-after': text })
    const http = new GuardedHttp({ allow: allow('127.0.0.1') })
    const answer = await http.send({ ...REQUEST, url: `http://127.0.0.1:${sink.port}/` })
    expect(answer).toEqual({ kind: 'answered', status: 503, retryAfterSec: sec })
  })

  test('who does not answer in time has failed', async () => {
    const sink = await listen(0)
    const http = new GuardedHttp({ allow: allow('127.0.0.1'), timeoutMs: 100 })
    expect(await http.send({ ...REQUEST, url: `http://127.0.0.1:${sink.port}/` })).toEqual({
      kind: 'failed',
      code: 'TIMEOUT',
    })
  })

  test('who switches to another protocol instead of answering has failed', async () => {
    const sink = await listen(101, { connection: 'upgrade', upgrade: 'websocket' })
    const http = new GuardedHttp({ allow: allow('127.0.0.1') })
    expect(await http.send({ ...REQUEST, url: `http://127.0.0.1:${sink.port}/` })).toEqual({
      kind: 'failed',
      code: 'CONNECTION_RESET',
    })
  })

  test('a refused connection, a header that is none and TLS that is not trusted have failed', async () => {
    const sink = await listen()
    const http = new GuardedHttp({ allow: allow('127.0.0.1') })
    const code = async (url: string, headers = {}) => {
      const answer = await http.send({ ...REQUEST, url, headers })
      return answer.kind === 'failed' ? answer.code : answer
    }
    expect(await code(`http://127.0.0.1:${sink.port}/`, { 'x-a': 'a\r\nb' })).toBe('BAD_REQUEST')
    expect(await code('http://127.0.0.1:1/')).toBe('CONNECTION_REFUSED')
    expect(await code(`https://127.0.0.1:${sink.port}/`)).toBe('NETWORK')
  })
})

describe('what the operator allows', () => {
  const judge = async (list: string, url: string, addresses?: readonly string[]) =>
    (await guarded(addresses ?? [], list).judge(url)).kind

  test.each([
    ['127.0.0.1', 'http://127.0.0.1:99/', undefined, 'allowed'],
    ['127.0.0.1:99', 'http://2130706433:99/', undefined, 'allowed'],
    ['127.0.0.1:99', 'http://127.0.0.1:98/', undefined, 'forbidden'],
    ['127.0.0.1', 'http://127.0.0.2/', undefined, 'forbidden'],
    ['10.0.0.0/8', 'http://10.1.2.3/', undefined, 'allowed'],
    ['10.0.0.0/8', 'http://[::ffff:10.1.2.3]/', undefined, 'allowed'],
    ['10.0.0.0/8', 'http://a.example.com/', ['10.0.0.1', '192.168.0.1'], 'forbidden'],
    ['fd12::/16', 'http://[fd12::1]/', undefined, 'allowed'],
    ['[fd12::1]:8080', 'http://[fd12::1]:8080/', undefined, 'allowed'],
    ['grafana.internal', 'https://Grafana.internal/', ['10.0.0.1'], 'allowed'],
    ['grafana.internal', 'https://evil.grafana.internal/', ['10.0.0.1'], 'forbidden'],
    ['grafana.internal', 'https://grafana.internal/', ['169.254.169.254'], 'forbidden'],
    ['0.0.0.0/0, ::/0', 'http://169.254.169.254/', undefined, 'forbidden'],
    ['0.0.0.0/0, ::/0', 'http://[fe80::1]/', undefined, 'forbidden'],
    ['169.254.0.0/16', 'http://169.254.169.254/', undefined, 'forbidden'],
    ['169.254.169.254', 'http://169.254.169.254/', undefined, 'allowed'],
  ])('%s lets %s be reached: %s %s', async (list, url, addresses, kind) => {
    expect(await judge(list, url, addresses)).toBe(kind)
  })

  test.each(['10.0.0.0/33', 'a b', 'http://x', 'x:0', 'x:99999', '*.example.com', '!'])(
    '%s is no entry',
    (entry) => {
      expect(parseAllowList(`127.0.0.1, ${entry}`)).toBeUndefined()
    },
  )
})

function guarded(addresses: readonly string[], list = ''): GuardedHttp {
  return new GuardedHttp({ allow: allow(list), resolve: async () => addresses })
}

function allow(list: string) {
  const parsed = parseAllowList(list)
  if (parsed === undefined) throw new Error(`${list} is no list`)
  return parsed
}

/** A server that answers with this status, or never if it is 0. */
async function listen(status = 204, headers: Readonly<Record<string, string>> = {}): Promise<Sink> {
  const seen: IncomingMessage[] = []
  const server = createServer((request, answer) => {
    seen.push(request)
    if (status > 0) answer.writeHead(status, headers).end()
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // It listens on TCP.
  return { port: (server.address() as AddressInfo).port, seen }
}
