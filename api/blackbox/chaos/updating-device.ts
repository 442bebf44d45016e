// A device of the run that takes updates, on real connections: it downloads the image, restarts on the version and proves
// it, or misbehaves as its kind demands. What it was ordered and what it ran are recorded.

import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type MqttClient } from 'mqtt'
import { fetchImage } from '../../../engine/edge/simulator/updates/fetch-image.ts'
import type { UpdateKind } from '../../../engine/edge/simulator/updates/update-kinds.ts'
import { Updater } from '../../../engine/edge/simulator/updates/updater.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Recorder } from './recording.ts'

const RECONNECT_MS = 300
const CONNECT_TIMEOUT_MS = 4_000
const KEEPALIVE_SEC = 5
const REBOOT_MS = 400
const FAREWELL_MS = 1_000
/** A broker that is killed loses what nobody takes from it, so a device says more than once what it runs. */
const HEARTBEAT_MS = 1_500
const PACE = { installMs: 250, downloadsFailing: 1 }
const REFUSED = 128

export interface UpdatingDeviceOptions {
  readonly id: string
  readonly token: string
  readonly kind: UpdateKind
  readonly version: string
  readonly recorder: Recorder
  readonly address: () => { readonly host: string; readonly port: number }
}

export class UpdatingDevice {
  readonly id: string
  readonly kind: UpdateKind
  readonly #options: UpdatingDeviceOptions
  readonly #updater: Updater
  readonly #stopped = new AbortController()
  #client: MqttClient | undefined
  #boots = 0
  #isAdmitted = false
  readonly #heartbeat = setInterval(() => this.#isAdmitted && this.#sayOnline(), HEARTBEAT_MS)

  constructor(options: UpdatingDeviceOptions) {
    this.id = options.id
    this.kind = options.kind
    this.#options = options
    const { signal } = this.#stopped
    this.#updater = new Updater(
      options.version,
      options.kind,
      {
        say: (report) => this.#publish('ota/status', report),
        download: (message, progress) => fetchImage(message, { progress, signal, bytesPerSec: 0 }),
        sleep: (ms) => sleep(ms),
        reboot: () => this.#reboot(),
      },
      PACE,
    )
    this.#boot()
  }

  get isConnected(): boolean {
    return this.#isAdmitted
  }

  get version(): string {
    return this.#updater.version
  }

  close(): void {
    this.#stopped.abort()
    clearInterval(this.#heartbeat)
    this.#client?.end(true)
  }

  #boot(): void {
    const { id, options } = { id: this.id, options: this.#options }
    this.#boots++
    const { recorder } = options
    recorder.boots.push({ device: id, version: this.version, at: recorder.now() })
    const { host, port } = options.address()
    const client = connect({
      ...{ host, port, clientId: id, username: id, password: options.token },
      ...{ reconnectPeriod: RECONNECT_MS, connectTimeout: CONNECT_TIMEOUT_MS, keepalive: KEEPALIVE_SEC },
      // Reports of before a restart are lost with the memory; those of a connection that broke are sent again.
      resubscribe: false,
    })
    this.#client = client
    client.on('error', () => undefined)
    client.on('close', () => {
      this.#isAdmitted = false
    })
    client.on('connect', () => this.#greet(client))
    client.on('message', (_topic, payload) => this.#take(JSON.parse(payload.toString())))
  }

  #greet(client: MqttClient): void {
    client.subscribe(`fleet/${this.id}/ota`, { qos: 1 }, (error, granted) => {
      // A broker whose authentication is away lets a device in and refuses it everything: it has to come back.
      if (error !== null || granted?.some(({ qos }) => Number(qos) === REFUSED)) {
        client.stream.destroy()
        return
      }
      this.#isAdmitted = true
      this.#sayOnline()
    })
  }

  #sayOnline(): void {
    const bootId = `${this.id}-${this.#boots}`
    this.#publish('status', { status: 'online', firmware_version: this.version, boot_id: bootId })
  }

  #take(body: JsonObject): void {
    const { recorder } = this.#options
    recorder.orders.push({
      device: this.id,
      deployment: String(body['deployment_id']),
      action: String(body['action']),
      attempt: Number(body['attempt']),
      seq: Number(body['seq']),
      at: recorder.now(),
    })
    this.#updater.take(body)
  }

  async #reboot(): Promise<void> {
    const client = this.#client
    this.#isAdmitted = false
    // What it said last is on its way, if there is a way.
    await Promise.race([client?.endAsync(), sleep(FAREWELL_MS)])
    client?.end(true)
    await sleep(REBOOT_MS)
    if (!this.#stopped.signal.aborted) this.#boot()
  }

  #publish(suffix: string, body: JsonObject): void {
    if (this.#client?.disconnecting === false)
      this.#client.publish(`fleet/${this.id}/${suffix}`, JSON.stringify(body), { qos: 1 })
  }
}
