// Bundles and devices for tests of everything that reads the log.
import { Buffer } from 'node:buffer'
import { type DeviceId, Micros, Millis, parseDeviceId } from '../../../../schemas/ids.ts'
import { BundleWriter, FLAG_WILL, ITEM, type ItemKind } from '../../../domain/bundle.ts'
import type { DeviceRequest } from '../../../domain/device/events.ts'
import type { Device } from '../../../domain/device/record.ts'
import { register } from '../../../domain/device/transition.ts'
import type { EndCause } from '../../../ports/broker.ts'
import { packRequest } from '../requests.ts'
import { packSession } from '../sessions.ts'

const NO_BYTES = new Uint8Array(0)
export const START = Millis(Date.UTC(2026, 0, 5, 10))

export function idOf(name: string): DeviceId {
  const id = parseDeviceId(name)
  if (id === undefined) throw new Error(`${name} is a valid id`)
  return id
}

export interface TestItem {
  readonly kind: ItemKind
  readonly id: string
  /** Milliseconds after START. */
  readonly at: number
  readonly suffix?: string
  readonly payload: Uint8Array
  /** The gateway that it came through. */
  readonly via?: string
  readonly flags?: number
  /** The broker's name for the message. */
  readonly origin?: Uint8Array
}

export const telemetry = (id: string, at: number, data: object | string): TestItem => ({
  kind: ITEM.message,
  id,
  at,
  suffix: 'telemetry',
  payload: Buffer.from(typeof data === 'string' ? data : JSON.stringify(data)),
})

export const status = (id: string, at: number, said: object | string): TestItem => ({
  ...telemetry(id, at, said),
  suffix: 'status',
})

export const will = (id: string, at: number, said: object | string): TestItem => ({
  ...status(id, at, said),
  flags: FLAG_WILL,
})

const session = { ip: '10.0.0.1' }
export const opened = (id: string, at: number, issuedAt?: Millis): TestItem => ({
  kind: ITEM.opened,
  id,
  at,
  payload: packSession({ ...session, number: micros(at), cause: undefined, issuedAt }),
})

/** Closes the session that was opened at `openedAt`. */
export const closed = (id: string, at: number, openedAt: number, cause: EndCause = 'lost'): TestItem => ({
  kind: ITEM.closed,
  id,
  at,
  payload: packSession({ ...session, number: micros(openedAt), cause }),
})

export const request = (id: string, at: number, wish: DeviceRequest, requestId = `r${at}`): TestItem => ({
  kind: ITEM.request,
  id,
  at,
  payload: packRequest({ requestId, deviceId: idOf(id), by: { kind: 'user', id: 'usr_1' }, request: wish }),
})

export const registration = (id: string, at: number): TestItem =>
  request(id, at, { kind: 'register', name: id, type: 'mqtt_device' })

export function bundle(items: readonly TestItem[]): Uint8Array {
  const writer = new BundleWriter()
  for (const { kind, id, at, via = '', suffix = '', payload, flags = 0, origin = NO_BYTES } of items)
    writer.add({
      kind,
      flags,
      receivedAt: micros(at),
      id: Buffer.from(id),
      via: Buffer.from(via),
      origin,
      suffix: Buffer.from(suffix),
      payload,
    })
  return writer.take()
}

export function deviceOf(id: string, fields: Partial<Device> = {}): Device {
  const { device } = register(
    idOf(id),
    { kind: 'register', name: id, type: 'mqtt_device' },
    { kind: 'user', id: 'usr_1' },
    START,
  )
  return { ...device, ...fields }
}

function micros(at: number): Micros {
  return Micros((START + at) * 1000)
}
