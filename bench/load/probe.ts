// Measures the latency from a publish to /ws. A few devices send numbered messages, and one socket waits for the numbers.
import type { WebSocket } from 'ws'
import { Histogram } from '../../engine/edge/histogram.ts'
import { sleep, ticks, until } from '../measure/deadline.ts'
import { DeviceSocket } from './device-socket.ts'
import { encodePublish, encodeRing } from './packets.ts'
import type { ProbeSettings } from './protocol.ts'
import { openWebSocket } from './websocket.ts'

/** Messages that take longer than this count as lost. */
const ARRIVAL_MS = 5_000
const SUBSCRIBE_MS = 10_000
const RING = 1024

export interface ProbeResult {
  readonly latency: Histogram
  readonly lost: number
}

export class Probe {
  readonly #sentAt: number[] = []
  readonly #latency = new Histogram()
  #arrived = 0
  #stopped = false
  #subscribed = 0
  #refused: string | undefined
  #socket: WebSocket | undefined
  #devices: readonly DeviceSocket[] = []
  readonly #settings: ProbeSettings

  constructor(settings: ProbeSettings) {
    this.#settings = settings
  }

  async open(host: string, port: number): Promise<void> {
    const { devices, wsUrl } = this.#settings
    const filler = [Buffer.from('{}')]
    this.#devices = await Promise.all(
      devices.map((device) => {
        const ring = encodeRing({
          topic: `fleet/${device.id}/telemetry`,
          payloads: filler,
          offset: 0,
          size: RING,
        })
        return DeviceSocket.open({ host, port, device, ring, keepAliveSec: 1200 })
      }),
    )
    const socket = await openWebSocket(wsUrl, (text) => this.#onText(text))
    this.#socket = socket
    for (const { id } of devices) {
      socket.send(JSON.stringify({ type: 'subscribe', id, channel: 'telemetry', filter: { device_id: id } }))
    }
    await until('/ws subscriptions', { deadlineMs: SUBSCRIBE_MS, everyMs: 5 }, async () => {
      if (this.#refused !== undefined) throw new Error(`/ws: ${this.#refused}`)
      return this.#subscribed >= devices.length || undefined
    })
  }

  /** Sends messages on a fixed schedule until stopped. */
  async run(): Promise<void> {
    const msPerProbe = 1000 / this.#settings.messagesPerSec
    const start = ticks()
    while (!this.#stopped) {
      const due = Math.floor((ticks() - start) / msPerProbe)
      while (this.#sentAt.length < due) this.#send(start + this.#sentAt.length * msPerProbe)
      await sleep(1)
    }
  }

  async finish(): Promise<ProbeResult> {
    this.#stopped = true
    const end = ticks() + ARRIVAL_MS
    while (this.#arrived < this.#sentAt.length && ticks() < end) await sleep(5)
    this.#socket?.close()
    for (const device of this.#devices) device.close()
    return { latency: this.#latency, lost: this.#sentAt.length - this.#arrived }
  }

  #send(at: number): void {
    const number = this.#sentAt.length
    this.#sentAt.push(at)
    const device = this.#devices[number % this.#devices.length]
    const payload = Buffer.from(`{"probe":${number},"speed":0.512,"temperature":41.2,"rssi":-61}`)
    device?.sendOwn((packetId) => {
      return encodePublish({ topic: `fleet/${device.device.id}/telemetry`, payload, packetId })
    }, at)
  }

  #onText(text: string): void {
    const now = ticks()
    if (text.includes('"type":"subscribed"')) this.#subscribed++
    if (text.includes('"type":"error"')) this.#refused = text
    for (const match of text.matchAll(/"probe":(\d+)/g)) {
      this.#arrived++
      this.#latency.record((now - (this.#sentAt[Number(match[1])] ?? now)) * 1000)
    }
  }
}
