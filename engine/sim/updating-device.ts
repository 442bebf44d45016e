// A device of a simulated rollout. Its updates are those of the simulator's `Updater`, and its connection ends when the
// service's process dies.

import type { DeviceId } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { MemoryBroker } from '../adapters/broker/testing/memory.ts'
import { MemoryDevice } from '../adapters/broker/testing/memory-device.ts'
import type { UpdateKind } from '../edge/simulator/updates/update-kinds.ts'
import { Updater } from '../edge/simulator/updates/updater.ts'
import type { Schedule } from '../ports/schedule.ts'

const DOWNLOAD_MS = 2_000
const REBOOT_MS = 3_000

/** A message about firmware that the device received. */
export interface ReceivedOrder {
  readonly deploymentId: string
  readonly attempt: number
  readonly seq: number
  readonly action: string
}

export class UpdatingDevice {
  readonly id: DeviceId
  readonly kind: UpdateKind
  readonly told: ReceivedOrder[] = []
  readonly #updater: Updater
  readonly #schedule: Schedule
  /** Reports that the service has not acknowledged yet. */
  readonly #reports: JsonObject[] = []
  #session: MemoryDevice | undefined
  #isOff = false
  #boots = 1

  /** The schedule belongs to the device and goes on when processes die. */
  constructor(id: DeviceId, kind: UpdateKind, schedule: Schedule) {
    this.id = id
    this.kind = kind
    this.#schedule = schedule
    this.#updater = new Updater('1.0', kind, {
      say: (report) => {
        this.#reports.push(report)
        void this.#flush()
      },
      download: async () => {
        await schedule.sleep(DOWNLOAD_MS)
        return true
      },
      sleep: (ms) => schedule.sleep(ms),
      reboot: (version) => this.#reboot(version),
    })
  }

  get version(): string {
    return this.#updater.version
  }

  /** Connects unless the device is connected already, or off. */
  async connect(broker: MemoryBroker): Promise<void> {
    if (this.#isOff || (this.#session !== undefined && !this.#session.isEnded)) return
    const session = await broker.connect({ clientId: this.id })
    if (!(session instanceof MemoryDevice)) return
    this.#session = session
    session.heard = ({ suffix, payload }) => {
      if (suffix !== 'ota' || this.#session !== session) return
      const body: JsonObject = JSON.parse(Buffer.from(payload).toString())
      this.told.push({
        deploymentId: String(body['deployment_id']),
        attempt: Number(body['attempt']),
        seq: Number(body['seq']),
        action: String(body['action']),
      })
      this.#updater.take(body)
    }
    session.subscribe(`fleet/${this.id}/#`)
    // This is not awaited, because its acknowledgement needs the time that passes afterwards.
    void this.#greet()
  }

  /** Called when the process behind the connection has died. */
  lost(): void {
    this.#session = undefined
  }

  disconnect(): void {
    this.#session?.end('lost')
    this.#session = undefined
  }

  /** Reports the running version, as after each connect. It also serves as a heartbeat. */
  async #greet(): Promise<void> {
    const { version } = this.#updater
    const status = { status: 'online', firmware_version: version, boot_id: `${this.id}-${this.#boots}` }
    await this.#publish('status', status)
    await this.#flush()
  }

  speak(): void {
    void this.#greet()
  }

  async #reboot(version: string | undefined): Promise<void> {
    this.#isOff = true
    this.disconnect()
    // A reboot loses reports that were not sent yet.
    this.#reports.length = 0
    if (version === undefined) return
    await this.#schedule.sleep(REBOOT_MS)
    this.#boots++
    this.#isOff = false
  }

  /** Sends reports in order, each one after the previous one was acknowledged. */
  async #flush(): Promise<void> {
    const [report] = this.#reports
    if (report === undefined) return
    const isAcked = await this.#publish('ota/status', report)
    if (!isAcked || this.#reports[0] !== report) return
    this.#reports.shift()
    await this.#flush()
  }

  async #publish(suffix: string, body: object): Promise<boolean> {
    const session = this.#session
    if (session === undefined || session.isEnded) return false
    return (await session.publish(`fleet/${this.id}/${suffix}`, JSON.stringify(body))) === true
  }
}
