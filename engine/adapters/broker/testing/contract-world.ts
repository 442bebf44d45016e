// The seam between the broker contract and an adapter's test: the adapter, and a device to drive it with.
import { Buffer } from 'node:buffer'
import { type DeviceId, parseDeviceId } from '../../../../schemas/ids.ts'
import type { Broker, ConnackCode, Downlink } from '../../../ports/broker.ts'
import type { RawWill } from '../embedded/connect-fields.ts'
import type { Qos } from '../filters.ts'
import type { FakeHost } from './fake-host.ts'

export interface ContractConnect {
  readonly password?: string
  readonly clean?: boolean
  readonly will?: RawWill
}

export interface ContractDevice {
  /** Resolves once the broker acknowledged it (QoS 0: once sent); never if the session ends before. */
  publish(
    topic: string,
    payload: string,
    options?: { readonly qos?: Qos; readonly retain?: boolean },
  ): Promise<void>
  /** Resolves true if the filter is granted. */
  subscribe(filter: string, qos?: Qos): Promise<boolean>
  /** Messages received so far. They are acknowledged at once while `acknowledges` is true. */
  received(): readonly {
    readonly topic: string
    readonly text: string
    readonly qos: number
    readonly retain: boolean
  }[]
  acknowledges: boolean
  isClosed(): boolean
  disconnect(): void
  /** Closes the connection without a DISCONNECT. */
  drop(): void
}

export interface BrokerUnderTest {
  readonly broker: Broker
  connect(clientId: string, options?: ContractConnect): Promise<ContractDevice | ConnackCode>
  /** Releases what the adapter's test has opened beside the broker. Called after `close`. */
  release?(): Promise<void>
  /** Advances the broker's clock. */
  pass(ms: number): void
}

export function deviceId(text: string): DeviceId {
  const id = parseDeviceId(text)
  if (id === undefined) throw new Error(`no device id: ${text}`)
  return id
}

export type StartBroker = (
  host: FakeHost,
  options?: { readonly publishRateMax?: number },
) => Promise<BrokerUnderTest>

export const a = deviceId('a')
export const will: RawWill = { topic: 'fleet/a/status', payload: Buffer.from('gone'), qos: 1, retain: false }

/** Connects a device. Throws if it is refused. */
export async function connectTo(
  under: BrokerUnderTest,
  id = 'a',
  options: ContractConnect = {},
): Promise<ContractDevice> {
  const device = await under.connect(id, options)
  if (typeof device === 'number') throw new Error(`refused: ${device}`)
  return device
}

export function downlink(more: Partial<Downlink> = {}, text = 'go'): Downlink {
  return { deviceId: a, suffix: 'command', payload: Buffer.from(text), qos: 1, retain: false, ...more }
}
