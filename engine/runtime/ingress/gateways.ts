// Gateways at the ingress. A gateway's message for a sub-device goes into that device's partition, marked with the
// gateway's id, and sub-devices are told about their gateway's connections.
//
// - The sub-device's actor decides who may speak for it (R2). The knowledge here only decides who is told.
// - A sub-device is told of each session in order: opened, listening, its messages, closed.
// G3. A message that belongs to no sub-device stays with its sender, whose actor refuses it.
import { Buffer } from 'node:buffer'
import type { DeviceId } from '../../../schemas/ids.ts'
import { parseSubSuffix, toSubSuffix } from '../../../schemas/topics.ts'
import { ITEM } from '../../domain/bundle.ts'
import { partitionOf } from '../../domain/partition.ts'
import {
  COMMAND_SUFFIX,
  type DeviceSession,
  type EndCause,
  OTA_SUFFIX,
  type UplinkMessage,
} from '../../ports/broker.ts'
import type { Directory } from '../../ports/store.ts'
import { hasChanged, listeningPayload, sessionPayload, type TakenTopics } from '../shard/sessions.ts'
import type { Ingest, SubDevice } from './ingest.ts'

interface SubDeviceSession extends SubDevice {
  /** The topics of the device that the gateway's session is subscribed to. Undefined before that is known. */
  takes: TakenTopics | undefined
}

type Family = Map<DeviceId, SubDeviceSession>

export class Gateways {
  readonly #ingest: Ingest
  readonly #devices: Directory
  /** The sub-devices that were told about each live session of a gateway. */
  readonly #families = new Map<DeviceSession, Family>()

  constructor(ingest: Ingest, devices: Directory) {
    this.#ingest = ingest
    this.#devices = devices
  }

  opened(session: DeviceSession): void {
    const { deviceId } = session
    if (this.#devices.summary(deviceId)?.type !== 'gateway') return
    const family: Family = new Map()
    this.#families.set(session, family)
    for (const id of this.#devices.subDevices(deviceId))
      if (this.#devices.summary(id)?.status !== 'decommissioned') this.#open(session, family, id)
  }

  subscribed(session: DeviceSession): void {
    const family = this.#familyOf(session)
    for (const [id, subDevice] of family ?? []) this.#listen(session, id, subDevice)
  }

  uplink(session: DeviceSession, message: UplinkMessage): void {
    const family = this.#familyOf(session)
    const sub = family === undefined ? undefined : parseSubSuffix(message.suffix)
    // By G3.
    if (family === undefined || sub === undefined) {
      this.#ingest.message(session, message)
      return
    }
    const { deviceId, suffix } = sub
    const device = family.get(deviceId) ?? this.#subDeviceFor(session, family, deviceId)
    this.#ingest.relayed(session, device, { ...message, suffix })
  }

  sendersOf(session: DeviceSession): number {
    return 1 + (this.#families.get(session)?.size ?? 0)
  }

  closed(session: DeviceSession, cause: EndCause): void {
    const family = this.#familyOf(session)
    this.#families.delete(session)
    for (const subDevice of family?.values() ?? []) this.#close(session, subDevice, cause)
  }

  left(session: DeviceSession): void {
    this.#families.delete(session)
  }

  /** Called when the device is decommissioned: no gateway speaks for it any more. */
  forget(deviceId: DeviceId): void {
    for (const [session, family] of this.#families) {
      const subDevice = family.get(deviceId)
      if (subDevice === undefined) continue
      family.delete(deviceId)
      this.#close(session, subDevice, 'revoked')
    }
  }

  /** If the session is assumed, its sub-devices count as told: the node that saw the connect has told them. */
  #familyOf(session: DeviceSession): Family | undefined {
    const known = this.#families.get(session)
    const isGateway =
      session.isAssumed === true && this.#devices.summary(session.deviceId)?.type === 'gateway'
    if (known !== undefined || !isGateway) return known
    const family: Family = new Map()
    for (const id of this.#devices.subDevices(session.deviceId))
      family.set(id, { ...toSubDevice(id), takes: undefined })
    this.#families.set(session, family)
    return family
  }

  /** A message for a device that was registered after the gateway connected, or that the gateway may not speak for. */
  #subDeviceFor(session: DeviceSession, family: Family, deviceId: DeviceId): SubDevice {
    const device = this.#devices.get(deviceId)
    const isOwn = device?.parentId === session.deviceId && device.status !== 'decommissioned'
    return isOwn ? this.#open(session, family, deviceId) : toSubDevice(deviceId)
  }

  #open(session: DeviceSession, family: Family, deviceId: DeviceId): SubDevice {
    const subDevice: SubDeviceSession = { ...toSubDevice(deviceId), takes: undefined }
    family.set(deviceId, subDevice)
    this.#ingest.relay(session, subDevice, { kind: ITEM.opened, payload: sessionPayload(session) })
    this.#listen(session, deviceId, subDevice)
    return subDevice
  }

  #listen(session: DeviceSession, deviceId: DeviceId, subDevice: SubDeviceSession): void {
    const takes = {
      commands: session.takes(toSubSuffix(deviceId, COMMAND_SUFFIX)),
      ota: session.takes(toSubSuffix(deviceId, OTA_SUFFIX)),
    }
    if (!hasChanged(takes, subDevice.takes)) return
    subDevice.takes = takes
    this.#ingest.relay(session, subDevice, {
      kind: ITEM.listening,
      payload: listeningPayload(session, takes),
    })
  }

  #close(session: DeviceSession, subDevice: SubDeviceSession, cause: EndCause): void {
    this.#ingest.relay(session, subDevice, { kind: ITEM.closed, payload: sessionPayload(session, cause) })
  }
}

function toSubDevice(deviceId: DeviceId): SubDevice {
  return { partition: partitionOf(deviceId), idBytes: Buffer.from(deviceId, 'latin1') }
}
