// Collects every move of a device's status from /ws.
import type { WebSocket } from 'ws'
import type { Session } from '../../../bench/load/session.ts'
import { openWebSocket } from '../../../bench/load/websocket.ts'
import { until } from '../../../bench/measure/deadline.ts'

const SUBSCRIBE_MS = 10_000

export interface StatusMove {
  readonly deviceId: string
  readonly status: string
  /** Time of the move in the service's record, in milliseconds since 1970. */
  readonly at: number
  readonly lastSeenAt: number
  /** Time at which the frame arrived, by this machine's clock. */
  readonly toldAt: number
}

export class StatusWatch {
  readonly moves: StatusMove[] = []
  /** Number of `resync` frames, by which /ws says that it left something out. */
  resyncs = 0
  #socket: WebSocket | undefined
  #isSubscribed = false

  static async open({ service, rest }: Pick<Session, 'service' | 'rest'>): Promise<StatusWatch> {
    const watch = new StatusWatch()
    watch.#socket = await openWebSocket(`${service.wsUrl}?token=${rest.token}`, (text) => watch.#onText(text))
    watch.#socket.send(JSON.stringify({ type: 'subscribe', id: 'moves', channel: 'devices' }))
    const polling = { deadlineMs: SUBSCRIBE_MS, everyMs: 5 }
    await until('/ws subscription', polling, async () => watch.#isSubscribed || undefined)
    return watch
  }

  count(status: string): number {
    return this.moves.filter((move) => move.status === status).length
  }

  close(): void {
    this.#socket?.close()
  }

  #onText(text: string): void {
    if (text.includes('"type":"subscribed"')) this.#isSubscribed = true
    if (text.includes('"type":"resync"')) this.resyncs++
    if (!text.includes('"event":"device.status"')) return
    // The service under test wrote it; a wrong shape shows as times that are not numbers.
    const frame = JSON.parse(text) as {
      readonly ts: string
      readonly device_id: string
      readonly data: { readonly status: string; readonly last_seen_at: string }
    }
    this.moves.push({
      deviceId: frame.device_id,
      status: frame.data.status,
      at: Date.parse(frame.ts),
      lastSeenAt: Date.parse(frame.data.last_seen_at),
      toldAt: Date.now(),
    })
  }
}
