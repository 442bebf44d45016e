// What the broker contract drives: an adapter under test, and a device of whatever kind the adapter's test has.
import { Buffer } from 'node:buffer'
import { type DeviceId, parseDeviceId } from '../../../../schemas/ids.ts'
import type { Broker, ConnackCode, Downlink } from '../../../ports/broker.ts'
import type { RawWill } from '../embedded/connect.ts'
import type { Qos } from '../filters.ts'
import type { FakeHost } from './fake-host.ts'

export interface ContractConnect {
  readonly password?: string
  readonly clean?: boolean
  readonly will?: RawWill
}

/** A connected device. */
export interface ContractDevice {
  /** Resolves once the broker acknowledged it (QoS 0: once sent); never if the session ends before. */
  publish(
    topic: string,
    payload: string,
    options?: { readonly qos?: Qos; readonly retain?: boolean },
  ): Promise<void>
  /** True when granted. */
  subscribe(filter: string, qos?: Qos): Promise<boolean>
  /** Downlinks so far. They are acknowledged at once while `acknowledges` is true. */
  received(): readonly {
    readonly topic: string
    readonly text: string
    readonly qos: number
    readonly retain: boolean
  }[]
  acknowledges: boolean
  isClosed(): boolean
  disconnect(): void
  /** Goes away without a word. */
  drop(): void
}

export interface BrokerUnderTest {
  readonly broker: Broker
  connect(clientId: string, options?: ContractConnect): Promise<ContractDevice | ConnackCode>
  /** After `close`: what the adapter's test has beside it. */
  release?(): Promise<void>
  /** Lets so much of the broker's time go by. */
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

/** A device that is not refused. */
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
