// How the parts of a device are kept: as bytes beside its record, and each command as a value of its own. So a change of
// status does not write the shadow again, and an answer to a command writes only that command.

import type { DeviceId } from '../../../schemas/ids.ts'
import { type Alerts, NO_ALERTS } from '../../domain/alert/alerts-part.ts'
import type { Command, Commands, Delivery } from '../../domain/command/record.ts'
import { NO_COMMANDS } from '../../domain/command/record.ts'
import { type Device, type DeviceRecord, toRecord } from '../../domain/device/record.ts'
import { type Firmware, NO_FIRMWARE } from '../../domain/ota/firmware-part.ts'
import { newPackr } from '../../domain/packing.ts'
import { NEW_SHADOW, type Shadow } from '../../domain/shadow/record.ts'
import type { SavedCommand, SavedPart, ShardSave, StoredDevice } from '../../ports/store.ts'

// Plain arrays and maps: each value must be readable without anything else that was written.
const packr = newPackr()

/** Lists every field, so that a new one does not compile until it is kept. Positions in this list are the format. */
const FIELDS: { readonly [Field in keyof Command]-?: true } = {
  id: true,
  name: true,
  data: true,
  dataBytes: true,
  status: true,
  priority: true,
  timeoutSec: true,
  createdAt: true,
  createdBy: true,
  notBefore: true,
  expiresAt: true,
  delivery: true,
  deliveredAt: true,
  ackedAt: true,
  completedAt: true,
  executedAt: true,
  cancelledAt: true,
  cancelledBy: true,
  notice: true,
  progress: true,
  result: true,
  resultBytesOmitted: true,
  error: true,
  late: true,
  conflicts: true,
  broadcastId: true,
  idempotencyKey: true,
}
// The keys of the object above are the fields.
const NAMES = Object.keys(FIELDS) as readonly (keyof Command)[]

type PackedDelivery = readonly [attempts: number, ...times: (number | undefined)[]]

function encodeCommand(command: Command): Uint8Array {
  const { notice } = command
  const packed = NAMES.map((name) => {
    if (name === 'delivery') return toPacked(command.delivery)
    if (name === 'notice') return notice && [...toPacked(notice), notice.expiresAt]
    return command[name]
  })
  return exactCopy(packr.pack(packed))
}

export function decodeCommand(bytes: Uint8Array): Command {
  // Written by encodeCommand.
  const values = packr.unpack(bytes) as readonly unknown[]
  const fields = Object.fromEntries(NAMES.map((name, i) => [name, values[i]]))
  const notice = fields['notice'] as PackedDelivery | undefined
  return {
    ...fields,
    delivery: toDelivery(fields['delivery'] as PackedDelivery),
    notice: notice && { ...toDelivery(notice), expiresAt: notice[4] },
  } as Command
}

/** Keeps their order, which is oldest first. */
function decodeCommands(kept: readonly Uint8Array[]): Commands {
  if (kept.length === 0) return NO_COMMANDS
  const byAge = (a: Command, b: Command) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)
  return kept.map(decodeCommand).sort(byAge)
}

function encodeShadow(shadow: Shadow): Uint8Array {
  const { version, desired, reported, desiredTimes, reportedTimes, updatedAt } = shadow
  return exactCopy(packr.pack([version, desired, reported, desiredTimes, reportedTimes, updatedAt]))
}

export function decodeShadow(bytes: Uint8Array | undefined): Shadow {
  if (bytes === undefined) return NEW_SHADOW
  // Written by encodeShadow.
  const packed = packr.unpack(bytes) as readonly unknown[]
  const [version, desired, reported, desiredTimes, reportedTimes, updatedAt] = packed
  return { version, desired, reported, desiredTimes, reportedTimes, updatedAt } as Shadow
}

/** Decodes the parts of a device for a shard's memory. */
export function decodeParts({
  parts,
  commands,
}: Pick<StoredDevice, 'parts' | 'commands'>): Omit<Device, keyof DeviceRecord> {
  return {
    shadow: decodeShadow(parts.shadow),
    commands: decodeCommands(commands),
    // Written by changesOf.
    firmware: parts.firmware === undefined ? NO_FIRMWARE : (packr.unpack(parts.firmware) as Firmware),
    alerts: parts.alerts === undefined ? NO_ALERTS : (packr.unpack(parts.alerts) as Alerts),
  }
}

export interface SavedDevice {
  readonly parts: readonly SavedPart[]
  readonly commands: readonly SavedCommand[]
}

/** Returns the parts of a device that must be written. A part with an unchanged reference is stored already (R7). */
export function changesOf(before: Device | undefined, device: Device): SavedDevice {
  const { id: deviceId, shadow, commands, firmware, alerts } = device
  const parts: SavedPart[] = []
  if (shadow !== (before?.shadow ?? NEW_SHADOW))
    parts.push({ deviceId, part: 'shadow', bytes: encodeShadow(shadow) })
  if (firmware !== (before?.firmware ?? NO_FIRMWARE))
    parts.push({ deviceId, part: 'firmware', bytes: exactCopy(packr.pack(firmware)) })
  if (alerts !== (before?.alerts ?? NO_ALERTS))
    parts.push({ deviceId, part: 'alerts', bytes: exactCopy(packr.pack(alerts)) })
  return {
    parts,
    commands:
      commands === before?.commands ? [] : commandChanges(before?.commands ?? [], { id: deviceId, commands }),
  }
}

function commandChanges(
  before: Commands,
  { id: deviceId, commands }: Pick<Device, 'id' | 'commands'>,
): readonly SavedCommand[] {
  const known = new Set(before)
  const written = commands.filter((command) => !known.has(command))
  const ids = new Set(commands.map(({ id }) => id))
  const gone = before.filter(({ id }) => !ids.has(id))
  return [
    ...written.map((command) => ({ deviceId, commandId: command.id, bytes: encodeCommand(command) })),
    ...gone.map(({ id }) => ({ deviceId, commandId: id, bytes: undefined })),
  ]
}

function toPacked({ attempts, sentAt, sentIn, deliveredAt }: Delivery): PackedDelivery {
  return [attempts, sentAt, sentIn, deliveredAt]
}

function toDelivery([attempts, sentAt, sentIn, deliveredAt]: PackedDelivery): Delivery {
  // Written by toPacked.
  return { attempts, sentAt, sentIn, deliveredAt } as Delivery
}

/** A copy of exact size: a view would take the packer's whole buffer across to the host. */
function exactCopy(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes)
}

/** The parts of these devices that differ from their settled state. */
export function toSave(
  devices: Iterable<Device>,
  settled: (id: DeviceId) => Device | undefined,
): Pick<ShardSave, 'changed' | 'parts' | 'commands'> {
  const changed: DeviceRecord[] = []
  const parts: SavedPart[] = []
  const commands: SavedCommand[] = []
  for (const device of devices) {
    const before = settled(device.id)
    if (before === undefined || isRecordChanged(before, device)) changed.push(toRecord(device))
    const kept = changesOf(before, device)
    parts.push(...kept.parts)
    commands.push(...kept.commands)
  }
  return { changed, parts, commands }
}

const BESIDE_RECORD: ReadonlySet<string> = new Set(['shadow', 'commands', 'firmware', 'alerts'])

/** Both records have the same fields. */
function isRecordChanged(before: Device, after: Device): boolean {
  for (const name of Object.keys(after) as (keyof Device)[])
    if (before[name] !== after[name] && !BESIDE_RECORD.has(name)) return true
  return false
}
