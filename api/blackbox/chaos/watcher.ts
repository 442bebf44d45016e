// A user who listens to all devices on `/ws`, at one node after the other, and begins with a snapshot each time.
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { Random } from '../../../engine/edge/simulator/roaming/random.ts'
import { isObject } from '../../../schemas/json.ts'
import { toShadowState } from './caller.ts'
import type { ApiNode } from './client.ts'
import { toChange } from './collect.ts'
import {
  type LiveConnection,
  type LiveFrame,
  type Statement,
  WATCHED,
  type WatchedChannel,
} from './live-recording.ts'
import type { Recorder } from './recording.ts'

type Body = Readonly<Record<string, unknown>>

const AWAY_MS = 300
const HANDSHAKE_MS = 10_000
/** A connection lasts between one and four times so long. */
const STAYS_MS = 4_000

export interface WatcherOptions {
  readonly name: string
  readonly token: string
  readonly groups: LiveConnection['groups']
  readonly forbidden: LiveConnection['forbidden']
  readonly nodes: readonly ApiNode[]
  readonly dice: Random
  readonly recorder: Recorder
}

export class Watcher {
  readonly #options: WatcherOptions
  #socket: WebSocket | undefined
  #isResting = false
  #isClosed = false

  constructor(options: WatcherOptions) {
    this.#options = options
  }

  async run(): Promise<void> {
    while (!this.#isClosed) {
      await this.#watchOnce()
      await sleep(AWAY_MS)
    }
  }

  /** Stays with its connection from now on. With `isAnew` it connects once more. */
  rest({ isAnew }: { readonly isAnew: boolean }): void {
    this.#isResting = true
    if (isAnew) this.#socket?.terminate()
  }

  close(): void {
    this.#isClosed = true
    this.#socket?.terminate()
  }

  #watchOnce(): Promise<void> {
    const { name, nodes, groups, forbidden, dice, recorder, token } = this.#options
    const node = nodes[Math.floor(dice() * nodes.length)]
    if (node === undefined) throw new Error('there is no node to listen at')
    const socket = new WebSocket(`${node.url().replace(/^http/, 'ws')}/ws`, {
      handshakeTimeout: HANDSHAKE_MS,
    })
    this.#socket = socket
    let connection: LiveConnection | undefined
    const leave = () => {
      if (!this.#isResting) socket.terminate()
    }
    const over = setTimeout(leave, STAYS_MS * (1 + 3 * dice()))
    socket.on('open', () => socket.send(JSON.stringify({ type: 'auth', token })))
    socket.on('message', (data: Buffer) => {
      // The service under test wrote it; the checkers find a wrong shape.
      const frame = JSON.parse(data.toString()) as Body
      if (frame['type'] === 'auth_ok') {
        const about = { watcher: name, node: node.name, groups, forbidden }
        connection = { ...about, openedAt: recorder.now(), frames: [] }
        recorder.live.push(connection)
        for (const channel of WATCHED)
          socket.send(JSON.stringify({ type: 'subscribe', id: channel, channel, snapshot: true }))
      } else {
        const seen = toLiveFrame(frame, recorder.now())
        if (seen !== undefined) connection?.frames.push(seen)
      }
    })
    // It is followed by 'close'.
    socket.on('error', () => undefined)
    return new Promise((resolve) => {
      socket.on('close', () => {
        clearTimeout(over)
        // The run itself ends the last one.
        if (connection !== undefined && !this.#isClosed) connection.closedAt = recorder.now()
        resolve()
      })
    })
  }
}

/** Undefined for frames about no subscription. */
function toLiveFrame(frame: Body, at: number): LiveFrame | undefined {
  const { type, id } = frame
  const channel = WATCHED.find((each) => each === id)
  if (channel === undefined) return undefined
  const about = { channel, at, shown: [] }
  if (type === 'error') return { ...about, kind: 'refused' }
  if (type === 'subscribed' || type === 'resync') return { ...about, kind: type }
  if (type === 'snapshot') {
    const items = Array.isArray(frame['data']) ? frame['data'] : []
    return { ...about, kind: 'snapshot', shown: items.map((item) => ofSnapshot(channel, item)) }
  }
  const [seq, ts] = [Number(frame['seq']), Date.parse(String(frame['ts']))]
  return { ...about, kind: 'event', seq, ts, shown: [ofEvent(channel, frame)] }
}

function ofSnapshot(channel: WatchedChannel, item: Body): Statement {
  const device = String(item['device_id'])
  if (channel === 'telemetry') return { device, ...reportOf(item['data']) }
  return channel === 'shadows' ? { device, ...toShadowState(item) } : { device }
}

function ofEvent(channel: WatchedChannel, { device_id: id, data }: Body): Statement {
  const device = String(id)
  if (channel === 'commands' || !isObject(data)) return { device }
  return channel === 'telemetry' ? { device, ...reportOf(data['data']) } : { device, ...toChange(data) }
}

function reportOf(data: unknown): Pick<Statement, 'plain' | 'timed'> {
  if (!isObject(data)) return {}
  const { plain, timed } = data
  return {
    ...(typeof plain === 'number' ? { plain } : {}),
    ...(typeof timed === 'number' ? { timed } : {}),
  }
}
