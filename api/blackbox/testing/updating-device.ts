// A device that does what a rollout tells it: it says what it runs, reports each phase, and restarts.
import type { Service } from './service.ts'
import { connectDevice, publish } from './service-clients.ts'

export interface UpdatingDevice {
  readonly id: string
  readonly token: string
  /** What it was sent, in order. */
  readonly told: readonly Readonly<Record<string, unknown>>[]
  /** What it runs. */
  version(): string
  end(): Promise<void>
}

/** `isGood`: the new image runs; else the device comes back with the one it had. */
export async function updatingDevice(
  service: Pick<Service, 'mqttUrl'>,
  { id, token, isGood = true }: { readonly id: string; readonly token: string; readonly isGood?: boolean },
): Promise<UpdatingDevice> {
  const told: Readonly<Record<string, unknown>>[] = []
  let version = '1.0'
  let client = await session()
  async function session() {
    const next = await connectDevice(service, id, token)
    next.on('message', (_, payload) => void update(JSON.parse(payload.toString())))
    await next.subscribeAsync(`fleet/${id}/ota`, { qos: 1 })
    await publish(next, id, { status: 'online', firmware_version: version }, 'status')
    return next
  }
  async function update(message: Readonly<Record<string, unknown>>): Promise<void> {
    told.push(message)
    const { deployment_id, attempt, action } = message
    if (action === 'cancel') return
    const report = (status: string) => publish(client, id, { deployment_id, attempt, status }, 'ota/status')
    await report('downloading')
    for (const status of ['downloaded', 'installing', 'rebooting']) await report(status)
    await client.endAsync()
    if (isGood || action === 'rollback') version = String(message['version'])
    client = await session()
  }
  return { id, token, told, version: () => version, end: () => client.endAsync() }
}
