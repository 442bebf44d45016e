// What the store keeps for each device, in tables of its LMDB file: record, vitals, parts and commands.
import type { DeviceId } from '../../../schemas/ids.ts'
import type { DeviceRecord } from '../../domain/device/record.ts'
import {
  type Checkpoint,
  DEVICE_PARTS,
  type DevicePart,
  type Save,
  type SavedCommand,
  type StoredDevice,
} from '../../ports/store.ts'
import type { Change, LmdbEnv } from '../lmdb/lmdb-env.ts'
import { put, unpack } from './lmdb-values.ts'

const DEVICES = 'devices'
const VITALS = 'vitals'
/** Keyed by device, then command. */
const COMMANDS = 'commands'
/** The table of each part of a device. */
const PARTS: Readonly<Record<DevicePart, string>> = {
  shadow: 'shadows',
  firmware: 'firmware',
  alerts: 'alerts',
}
export const RECORD_TABLES: readonly string[] = [DEVICES, VITALS, COMMANDS, ...Object.values(PARTS)]

export class LmdbRecords {
  readonly #env: LmdbEnv

  constructor(env: LmdbEnv) {
    this.#env = env
  }

  *all(): Generator<DeviceRecord> {
    for (const { value } of this.#env.entries(DEVICES)) yield unpack<DeviceRecord>(value)
  }

  record(id: DeviceId): DeviceRecord | undefined {
    const bytes = this.#env.peek(DEVICES, id)
    return bytes === undefined ? undefined : unpack<DeviceRecord>(bytes)
  }

  stored(id: DeviceId): StoredDevice | undefined {
    const device = this.record(id)
    if (device === undefined) return undefined
    const parts: { [Part in DevicePart]?: Uint8Array } = {}
    for (const part of DEVICE_PARTS) {
      const bytes = this.#env.read(PARTS[part], id)
      if (bytes !== undefined) parts[part] = bytes
    }
    const commands = [...this.#env.entries(COMMANDS, { prefix: commandKey(id) })]
    return {
      device,
      vitals: this.#env.read(VITALS, id),
      parts,
      commands: commands.map(({ value }) => value),
    }
  }

  changesOf({ changed, parts, commands }: Pick<Save, 'changed' | 'parts' | 'commands'>): readonly Change[] {
    return [
      ...changed.map((device) => put(DEVICES, device.id, device)),
      ...parts.map(({ deviceId, part, bytes }) => ({ table: PARTS[part], key: deviceId, value: bytes })),
      ...commands.map(toChange),
    ]
  }

  vitalsOf(vitals: Checkpoint['vitals']): readonly Change[] {
    return vitals.map(({ deviceId, bytes }) => ({ table: VITALS, key: deviceId, value: bytes }))
  }

  removalsOf(id: DeviceId): readonly Change[] {
    const commands = [...this.#env.keys(COMMANDS, { prefix: commandKey(id) })]
    return [
      ...[DEVICES, VITALS, ...Object.values(PARTS)].map((table) => ({ table, key: id })),
      ...commands.map((key) => ({ table: COMMANDS, key })),
    ]
  }
}

/** Without a command id, the common beginning of the keys of all the device's commands. */
function commandKey(deviceId: DeviceId, commandId = ''): string {
  return `${deviceId}/${commandId}`
}

function toChange({ deviceId, commandId, bytes }: SavedCommand): Change {
  const key = commandKey(deviceId, commandId)
  return bytes === undefined ? { table: COMMANDS, key } : { table: COMMANDS, key, value: bytes }
}
