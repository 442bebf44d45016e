// Devices on an in-memory engine that update their firmware, each with its own behaviour.
import type { MemoryDevice } from '../../engine/adapters/broker/testing/memory-device.ts'
import type { FirmwareRecord } from '../../engine/ports/ota.ts'
import { type DeviceId, FirmwareId } from '../../schemas/ids.ts'
import type { openHarness } from './rest.ts'

/** `good` installs and runs the firmware. `fails` fails to install it. `reverts` comes back with the old version. `dies`
 *  never comes back. `rejects` does not accept it. */
export type Behaviour = 'good' | 'fails' | 'reverts' | 'dies' | 'rejects'

type Harness = ReturnType<typeof openHarness>
type Message = Readonly<Record<string, unknown>>

let uploads = 0

export class UpdatingDevice {
  readonly id: DeviceId
  readonly received: Message[] = []
  version: string
  behaviour: Behaviour
  /** Runs while the device installs. */
  whileInstalling: (() => Promise<void>) | undefined
  readonly #harness: Harness
  #session: MemoryDevice | undefined

  constructor(harness: Harness, id: DeviceId, version: string, behaviour: Behaviour) {
    this.#harness = harness
    this.id = id
    this.version = version
    this.behaviour = behaviour
  }

  async connect(): Promise<void> {
    const session = await this.#harness.engine.connect(this.id)
    this.#session = session
    session.heard = ({ suffix, payload }) => {
      if (suffix !== 'ota') return
      const message: Message = JSON.parse(Buffer.from(payload).toString())
      this.received.push(message)
      setImmediate(() => void this.#update(message))
    }
    this.subscribe()
    await this.#publish('status', { status: 'online', firmware_version: this.version })
  }

  disconnect(): void {
    this.#session?.end('lost')
    this.#session = undefined
  }

  subscribe(): void {
    this.#session?.subscribe(`fleet/${this.id}/#`)
  }

  /** Receives no more messages, and stays connected. */
  unsubscribe(): void {
    this.#session?.unsubscribe(`fleet/${this.id}/#`)
  }

  /** Sends telemetry. */
  report(fields: object): Promise<void> {
    return this.#publish('telemetry', fields)
  }

  async #update(message: Message): Promise<void> {
    const { deployment_id, attempt, action, reports_as: goal } = message
    const report = (status: string, more: object = {}) =>
      this.#publish('ota/status', { deployment_id, attempt, status, ...more })
    if (action === 'cancel') return
    const behaviour = action === 'rollback' ? 'good' : this.behaviour
    if (behaviour === 'rejects') return report('rejected', { error: { code: 'LOW_BATTERY' } })
    if (goal === this.version) return report('already_installed', { version: this.version })
    for (const status of ['downloading', 'downloaded', 'installing']) await report(status)
    await this.whileInstalling?.()
    if (behaviour === 'fails')
      return report('failed', { error: { code: 'FLASH_ERROR', message: 'bad block' } })
    await report('rebooting')
    this.disconnect()
    if (behaviour === 'dies') return
    if (behaviour === 'good') this.version = String(goal)
    await this.connect()
  }

  async #publish(suffix: string, body: object): Promise<void> {
    await this.#session?.publish(`fleet/${this.id}/${suffix}`, JSON.stringify(body))
  }
}

/** Registers devices that run version 1.0 and are connected. */
export async function updatingFleet(
  harness: Harness,
  behaviours: Readonly<Record<string, Behaviour>>,
  about: { readonly group?: string } = {},
): Promise<readonly UpdatingDevice[]> {
  const fleet: UpdatingDevice[] = []
  for (const [name, behaviour] of Object.entries(behaviours)) {
    const device = new UpdatingDevice(harness, await harness.device(name, about), '1.0', behaviour)
    await device.connect()
    fleet.push(device)
  }
  return fleet
}

/** Uploads an image of this version, as the API does. */
export async function uploadFirmware(
  { engine }: Pick<Harness, 'engine'>,
  version: string,
  about: Partial<Pick<FirmwareRecord, 'deviceType' | 'minFromVersion' | 'fromVersions'>> = {},
): Promise<FirmwareId> {
  await engine.opened
  async function* content() {
    yield Buffer.from(`image of ${version}`)
  }
  const stored = await engine.firmware.storeImage(content(), 1_000)
  if (stored.kind !== 'stored') throw new Error(`not stored: ${stored.kind}`)
  const { key: imageKey, sha256, bytes: sizeBytes } = stored.image
  const added = await engine.firmware.add({
    id: FirmwareId(`fw_${uploads++}`),
    ...{
      version,
      deviceType: 'mqtt_device',
      changelog: '',
      filename: 'firmware.bin',
      imageKey,
      sha256,
      sizeBytes,
    },
    contentType: 'application/octet-stream',
    signature: undefined,
    signatureVerified: undefined,
    minFromVersion: undefined,
    fromVersions: [],
    reportsAs: version,
    uploadedBy: 'usr_1',
    ...about,
  })
  if (added.kind === 'refused') throw new Error(added.code)
  return added.record.id
}
