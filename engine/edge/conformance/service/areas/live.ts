// WS, ERR and OPS: the live stream, malformed requests and endpoints for operators.
import { WebSocket } from 'ws'
import type { JsonObject } from '../../../../../schemas/json.ts'
import { SkippedCheck, UnmetCheck } from '../../verdict.ts'
import { sendMalformedRequests } from '../malformed-requests.ts'
import { expectStatus, type Run } from '../run.ts'
import { check, type ServiceCheck } from '../steps.ts'

const UNAUTHENTICATED = 4401

export const LIVE: readonly ServiceCheck[] = [
  {
    ...check('WS-01', 'Live: /ws', 'acknowledged telemetry arrives on /ws'),
    run: async (run) => {
      const device = await run.register()
      const { publish } = await run.connect(device)
      const live = await open(run, await ticketOf(run))
      try {
        await live.subscribe({ channel: 'telemetry', filter: { device_id: device.id } })
        await publish('telemetry', { n: 42 })
        await live.next('the value on /ws', ({ type, ...frame }) => {
          return type === 'event' && JSON.stringify(frame).includes('42')
        })
      } finally {
        live.socket.terminate()
      }
    },
  },
  {
    ...check(
      'WS-02',
      'Live: /ws',
      '/ws accepts a token in each documented place and a ticket once, and refuses any other login',
    ),
    run: logins,
  },
  {
    ...check(
      'WS-03',
      'Live: /ws',
      'a subscription gets the current state and then all events that match its filter',
    ),
    isSlow: true,
    run: filters,
  },
  {
    ...check(
      'WS-04',
      'Live: /ws',
      'a client that reads too slowly gets the newest value and the number of dropped messages',
    ),
    isSlow: true,
    isLast: true,
    run: slowReader,
  },
  {
    ...check(
      'ERR-01',
      'Errors',
      'a malformed request is answered by a problem document with a published code, never by 5xx',
    ),
    isRead: true,
    run: sendMalformedRequests,
  },
  {
    ...check('OPS-01', 'Operation', 'the service reports that it is alive and ready'),
    isRead: true,
    run: async ({ rest }) => {
      for (const path of ['//livez', '//readyz'])
        expectStatus(await rest.get(path, { token: null }), 200, `GET ${path.slice(1)}`)
    },
  },
  {
    ...check('OPS-02', 'Operation', 'the service has metrics, and none of them contains a device id'),
    isRead: true,
    run: async (run) => {
      const answer = await fetch(`${run.url}/metrics`)
      const text = await answer.text()
      if ([401, 404].includes(answer.status))
        throw new SkippedCheck('the metrics are on another port or need a token')
      if (answer.status !== 200) throw new UnmetCheck(`GET /metrics is answered ${answer.status}`)
      if (!/^fleet_ingest_messages_total\{/m.test(text))
        throw new UnmetCheck('no metric counts messages', text.slice(0, 500))
      const named = text.split('\n').find((line) => line.includes('conf-'))
      if (named !== undefined) throw new UnmetCheck('a metric contains a device id', named)
    },
  },
]

interface LiveSession {
  readonly socket: WebSocket
  readonly frames: readonly JsonObject[]
  subscribe(about: JsonObject): Promise<void>
  next(what: string, is: (frame: JsonObject) => boolean): Promise<JsonObject>
}

interface Login {
  readonly query?: string
  readonly header?: string
  readonly frame?: JsonObject
}

async function ticketOf({ rest }: Run): Promise<Login> {
  const { body } = await rest.post('/auth/ws-ticket', {})
  return { query: `?ticket=${body['ticket']}` }
}

/** Resolves once the login is accepted. */
async function open(run: Run, login: Login): Promise<LiveSession> {
  const { socket, frames, closed } = openSocket(run, login)
  const next = (what: string, is: (frame: JsonObject) => boolean) => run.until(what, () => frames.find(is))
  const isAccepted = () => (frames.some(({ type }) => type === 'auth_ok') ? ('in' as const) : undefined)
  const came = await run.until('auth_ok on /ws', () => isAccepted() ?? closed())
  if (came !== 'in') throw new UnmetCheck(`/ws closes a valid login with ${came}`)
  let count = 0
  return {
    socket,
    frames,
    next,
    subscribe: async (about) => {
      const id = `s${++count}`
      socket.send(JSON.stringify({ type: 'subscribe', id, ...about }))
      await next('subscribed', (frame) => frame['type'] === 'subscribed' && frame['id'] === id)
    },
  }
}

function openSocket(run: Run, { query = '', header, frame }: Login) {
  const url = `${run.url.replace(/^http/, 'ws')}/ws${query}`
  const socket = new WebSocket(
    url,
    header === undefined ? {} : { headers: { authorization: `Bearer ${header}` } },
  )
  const frames: JsonObject[] = []
  let code: number | undefined
  socket.on('error', () => undefined)
  socket.on('unexpected-response', (_, { statusCode }) => {
    code = statusCode
  })
  socket.on('close', (why) => {
    code ??= why
  })
  socket.on('message', (data) => frames.push(JSON.parse(String(data))))
  if (frame !== undefined) socket.on('open', () => socket.send(JSON.stringify(frame)))
  return { socket, frames, closed: () => code }
}

async function logins(run: Run): Promise<void> {
  const { token } = run.rest
  const ticket = await ticketOf(run)
  const good = [{ header: token }, { query: `?token=${token}` }, { frame: { type: 'auth', token } }, ticket]
  for (const login of good) (await open(run, login)).socket.terminate()
  for (const login of [
    ticket,
    { header: 'wrong' },
    { query: '?token=wrong' },
    { frame: { type: 'auth', token: 'wrong' } },
  ]) {
    const { socket, closed, frames } = openSocket(run, login)
    const code = await run.until('the connection of a wrong login ends', closed)
    socket.terminate()
    if (![UNAUTHENTICATED, 401].includes(code) || frames.some(({ type }) => type === 'auth_ok'))
      throw new UnmetCheck(`/ws ends a wrong login by ${Object.keys(login).join()} with ${code}`)
  }
}

async function filters(run: Run): Promise<void> {
  const [one, other] = [await run.register({ tags: ['conf-a'] }), await run.register({ tags: ['conf-b'] })]
  const [first, second] = [await run.connect(one), await run.connect(other)]
  await first.publish('telemetry', { n: 7 })
  await run.until('the value', async () => {
    return Object((await run.rest.get(`/telemetry/${one.id}`)).body['data']).n === 7
  })
  const live = await open(run, await ticketOf(run))
  try {
    const filter = { group: run.group, tag: 'conf-a' }
    await live.subscribe({ channel: 'telemetry', filter, snapshot: true })
    await live.next(
      'the current value',
      ({ type, ...frame }) => type !== 'subscribed' && JSON.stringify(frame).includes(one.id),
    )
    await second.publish('telemetry', { n: 8 })
    await first.publish('telemetry', { n: 9, last: true })
    await live.next('the new value', (frame) => JSON.stringify(frame).includes('"last"'))
    const wrong = live.frames.find((frame) => JSON.stringify(frame).includes(other.id))
    if (wrong !== undefined)
      throw new UnmetCheck('a subscription gets an event of a device that does not match its filter', wrong)
    live.socket.send(
      JSON.stringify({ type: 'subscribe', id: 'x', channel: 'telemetry', filter: { tga: 'a' } }),
    )
    await live.next('an error for a misspelt filter', ({ type, id }) => type === 'error' && id === 'x')
  } finally {
    live.socket.terminate()
  }
}

/** More data than the buffers between a service and its client can hold. */
const UNREAD_BYTES_MAX = 16 * 2 ** 20
const PAYLOAD = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`f${n}`, 'x'.repeat(1_000)]))
const BEHIND_MS = 30_000

async function slowReader(run: Run): Promise<void> {
  const device = await run.register()
  const { publish } = await run.connect(device)
  const live = await open(run, await ticketOf(run))
  try {
    await live.subscribe({ channel: 'telemetry', filter: { device_id: device.id } })
    live.socket.pause()
    const payloadBytes = JSON.stringify(PAYLOAD).length
    for (let n = 0; n * payloadBytes < UNREAD_BYTES_MAX; n++) {
      run.signal.throwIfAborted()
      await publish('telemetry', { ...PAYLOAD, n })
    }
    await publish('telemetry', { ...PAYLOAD, n: 'last' })
    live.socket.resume()
    await run.until('the newest value after the pause', () => live.frames.find(isLast), BEHIND_MS)
    const resync = live.frames.find(({ type }) => type === 'resync')
    if (!(Number(resync?.['dropped']) > 0))
      throw new UnmetCheck('the client is not informed that messages were dropped', resync)
  } finally {
    live.socket.terminate()
  }
}

function isLast(frame: JsonObject): boolean {
  return frame['type'] === 'event' && JSON.stringify(frame).includes('"last"')
}
