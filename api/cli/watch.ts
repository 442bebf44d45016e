// A subscription to /ws that lasts until Ctrl-C. If the connection is lost, it connects and subscribes again.

import { on } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { errorText } from '../../schemas/error-text.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import type { Cli, Connection } from './cli.ts'
import { EXIT, Failure, refusalExit, toFailureReport } from './failure.ts'

export interface Subscription {
  readonly channel: 'devices' | 'telemetry' | 'commands' | 'shadows' | 'logs' | 'events' | 'audit'
  readonly filter: JsonObject
  readonly throttleMs?: number | undefined
  /** Requests the current state before the first event. */
  readonly snapshot?: boolean | undefined
  /** Called at each connection. Events from now on will be received, but none of those since `lostAt`. */
  readonly onSubscribed?: (lostAt: Date | undefined) => void
}

/** An `event` or `snapshot` frame of the subscription. */
export type WatchFrame = Readonly<Record<string, Json>>

const OPEN_TIMEOUT_MS = 10_000
/** The service pings every 30 s. */
const SILENCE_MS = 95_000
const RETRY_FIRST_MS = 500
const RETRY_MAX_MS = 10_000
/** Close codes after which a further attempt would end the same way. */
const FINAL: ReadonlySet<number> = new Set([1002, 1008, 4403, 4413, 4429])
/** Temporary refusals: the token expired meanwhile, the rate was exceeded, or a part of the service is down. */
const TEMPORARY: ReadonlySet<number> = new Set([401, 429, 503])

interface WatchEnd {
  readonly code: number
  readonly reason: string
  /** Whether the service had accepted the token. */
  readonly wasAuthenticated: boolean
}

const UNREACHABLE: WatchEnd = { code: 1006, reason: 'unreachable', wasAuthenticated: false }

export async function watch(
  cli: Cli,
  subscription: Subscription,
  onFrame: (frame: WatchFrame) => void,
): Promise<void> {
  const connection = await cli.connect()
  let tries = 0
  let lostAt: Date | undefined
  const onSubscribed = () => {
    subscription.onSubscribed?.(lostAt)
    lostAt = undefined
  }
  while (!cli.signal.aborted) {
    // If the first attempt fails, the command ends, because the service may never have been there.
    const token = tries === 0 ? await connection.token() : await tokenAgain(connection)
    const ended =
      token === undefined
        ? UNREACHABLE
        : await follow({ cli, connection, token }, { ...subscription, onSubscribed }, onFrame)
    if (cli.signal.aborted) return
    const { code, wasAuthenticated } = ended
    const reason = ended.reason || String(code)
    if (FINAL.has(code)) throw new Failure(EXIT.failed, `the service closed the connection: ${reason}`)
    if (tries === 0 && !wasAuthenticated)
      throw new Failure(EXIT.unreachable, `cannot open a live connection to ${connection.url}: ${reason}`)
    tries = wasAuthenticated ? 1 : tries + 1
    lostAt ??= new Date()
    cli.output.note(`connection lost (${reason}), reconnecting`)
    const pauseMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** (tries - 1))
    await sleep(pauseMs, undefined, { signal: cli.signal }).catch(() => undefined)
  }
}

/** Undefined if the service is away. A login that was ended meanwhile does not come back. */
function tokenAgain(connection: Connection): Promise<string | undefined> {
  return connection.token().catch((error: unknown) => {
    if (toFailureReport(error).exitCode === EXIT.notAllowed) throw error
    return undefined
  })
}

interface Session {
  readonly cli: Cli
  readonly connection: Connection
  readonly token: string
}

async function follow(
  { cli, connection, token }: Session,
  { channel, filter, throttleMs, snapshot, onSubscribed }: Subscription & { onSubscribed: () => void },
  onFrame: (frame: WatchFrame) => void,
): Promise<WatchEnd> {
  const socket = openSocket(new URL('/ws', connection.url))
  const stop = () => socket.terminate()
  cli.signal.addEventListener('abort', stop, { once: true })
  const throttle = throttleMs === undefined ? {} : { throttle_ms: throttleMs }
  socket.once('open', () => {
    socket.send(JSON.stringify({ type: 'auth', token }))
    const subscribe = { type: 'subscribe', id: 's1', channel, filter, snapshot: snapshot === true }
    socket.send(JSON.stringify({ ...subscribe, ...throttle }))
  })
  let wasAuthenticated = false
  let end = { code: 1006, reason: 'the connection broke' }
  socket.once('close', (code, reason) => {
    if (code !== 1006) end = { code, reason: reason.toString() }
  })
  try {
    for await (const [data] of on(socket, 'message', { close: ['close'] })) {
      // Every frame of the service is a JSON object.
      const frame = JSON.parse(String(data)) as WatchFrame
      if (frame['type'] === 'auth_ok') wasAuthenticated = true
      if (frame['type'] === 'subscribed') onSubscribed()
      if (frame['type'] === 'event' || frame['type'] === 'snapshot') onFrame(frame)
      if (frame['type'] === 'resync')
        cli.output.note(`this connection is too slow: ${String(frame['dropped'])} events were left out`)
      if (frame['type'] !== 'error') continue
      // The same problem document as in REST.
      const { title = 'refused', detail = title, status = 0 } = frame['problem'] as Refusal
      if (!TEMPORARY.has(status) || (status === 401 && !wasAuthenticated))
        throw new Failure(refusalExit(status), detail)
      return { code: 1013, reason: detail, wasAuthenticated }
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    return { code: 1006, reason: errorText(error), wasAuthenticated }
  } finally {
    cli.signal.removeEventListener('abort', stop)
    socket.terminate()
  }
  return { ...end, wasAuthenticated }
}

interface Refusal {
  readonly title?: string
  readonly detail?: string
  readonly status?: number
}

function openSocket(url: URL): WebSocket {
  const socket = new WebSocket(url, 'fleet.v1', {
    handshakeTimeout: OPEN_TIMEOUT_MS,
    perMessageDeflate: false,
  })
  // The loop over messages reports the first error. Later errors must not end the process.
  socket.on('error', () => undefined)
  socket.once('upgrade', ({ socket: stream }) =>
    socket.once('open', () => stream.setTimeout(SILENCE_MS, () => socket.terminate())),
  )
  return socket
}
