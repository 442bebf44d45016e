// A subscription to /ws that lasts until Ctrl-C: after a break it connects and subscribes again.
import { setTimeout as passes } from 'node:timers/promises'
import type { Json, JsonObject } from '../../schemas/json.ts'
import type { Cli, Connection } from './cli.ts'
import { EXIT, Failure, refusalExit } from './failure.ts'
import { openSocket, type Socket, type SocketEnd } from './socket.ts'

export interface Subscription {
  readonly channel: 'devices' | 'telemetry' | 'commands' | 'shadows' | 'logs' | 'events'
  readonly filter: JsonObject
  readonly throttleMs?: number | undefined
  /** Begin with how things stand. */
  readonly snapshot?: boolean | undefined
}

/** A frame about the subscription: `event` or `snapshot`. */
export type WatchFrame = Readonly<Record<string, Json>>

const AGAIN_FIRST_MS = 500
const AGAIN_MS_MAX = 10_000
/** Closed for a reason that another try does not change. */
const FINAL: ReadonlySet<number> = new Set([1002, 1008, 4403, 4413, 4429])
/** Refusals that pass: a token that has expired meanwhile, a part of the service that is away. */
const PASSING: ReadonlySet<number> = new Set([401, 429, 503])

export async function watch(
  cli: Cli,
  subscription: Subscription,
  onFrame: (frame: WatchFrame) => void,
): Promise<void> {
  const connection = await cli.connect()
  let tries = 0
  while (!cli.signal.aborted) {
    // A first failure is told at once: there may be nothing to come back.
    const token = tries === 0 ? await connection.token() : await connection.token().catch(() => undefined)
    const ended =
      token === undefined ? UNREACHED : await follow({ cli, connection, token }, subscription, onFrame)
    if (cli.signal.aborted) return
    const { code, reason, wasIn } = ended
    const said = reason || String(code)
    if (FINAL.has(code)) throw new Failure(EXIT.failed, `the service closed the connection: ${said}`)
    if (tries === 0 && !wasIn)
      throw new Failure(EXIT.unreachable, `no live connection to ${connection.url}: ${said}`)
    tries = wasIn ? 1 : tries + 1
    cli.output.note(`connection lost (${said}); trying again`)
    const pauseMs = Math.min(AGAIN_MS_MAX, AGAIN_FIRST_MS * 2 ** (tries - 1))
    await passes(pauseMs, undefined, { signal: cli.signal }).catch(() => undefined)
  }
}

interface WatchEnd extends SocketEnd {
  /** The service had taken the token. */
  readonly wasIn: boolean
}

const UNREACHED: WatchEnd = { code: 1006, reason: 'unreachable', wasIn: false }

interface Link {
  readonly cli: Cli
  readonly connection: Connection
  readonly token: string
}

async function follow(
  { cli, connection, token }: Link,
  { channel, filter, throttleMs, snapshot }: Subscription,
  onFrame: (frame: WatchFrame) => void,
): Promise<WatchEnd> {
  let wasIn = false
  const opened = await openSocket(new URL('/ws', connection.url), cli.signal).catch((error: unknown) => error)
  if (!isSocket(opened))
    return { ...UNREACHED, reason: opened instanceof Error ? opened.message : String(opened) }
  opened.send(JSON.stringify({ type: 'auth', token }))
  const subscribe = { type: 'subscribe', id: 's1', channel, filter, snapshot: snapshot === true }
  opened.send(
    JSON.stringify(throttleMs === undefined ? subscribe : { ...subscribe, throttle_ms: throttleMs }),
  )
  const texts = opened.texts()
  for (;;) {
    const next = await texts.next()
    if (next.done === true) return { ...next.value, wasIn }
    // The service's own frames are objects.
    const frame = JSON.parse(next.value) as WatchFrame
    if (frame['type'] === 'auth_ok') wasIn = true
    if (frame['type'] === 'event' || frame['type'] === 'snapshot') onFrame(frame)
    if (frame['type'] === 'resync')
      cli.output.note(`too slow: ${String(frame['dropped'])} events were left out`)
    if (frame['type'] !== 'error') continue
    opened.close()
    // A problem as REST tells it.
    const { title = 'refused', detail = title, status = 0 } = frame['problem'] as Refused
    if (!PASSING.has(status) || (status === 401 && !wasIn)) throw new Failure(refusalExit(status), detail)
    return { code: 1013, reason: detail, wasIn }
  }
}

interface Refused {
  readonly title?: string
  readonly detail?: string
  readonly status?: number
}

const isSocket = (opened: unknown): opened is Socket =>
  typeof opened === 'object' && opened !== null && 'texts' in opened
