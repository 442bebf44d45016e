// Cursors of lists over all devices. Each encodes the place of the last row that was looked at, and is opaque to clients.
import { HISTORY_KINDS } from '../../engine/domain/history/row.ts'
import type { CommandPlace, FleetPlace } from '../../engine/ports/history.ts'
import { CommandId, Micros, Millis, parseDeviceId } from '../../schemas/ids.ts'

export function toFleetCursor({ at, version, kind, deviceId }: FleetPlace): string {
  return encode([at, version, kind, deviceId])
}

/** Undefined for text that is not such a cursor. */
export function parseFleetCursor(cursor: string): FleetPlace | undefined {
  const [at, version, word, device] = decode(cursor, /^(\d{1,16}) (\d{1,16}) ([a-z]+) ([\w-]+)$/)
  const kind = HISTORY_KINDS.find((each) => each === word)
  const deviceId = parseDeviceId(device)
  if (kind === undefined || deviceId === undefined || !isSafe(at) || !isSafe(version)) return undefined
  return { at: Micros(Number(at)), version: Number(version), kind, deviceId }
}

export function toCommandCursor({ createdAt, commandId, deviceId }: CommandPlace): string {
  return encode([createdAt, commandId, deviceId])
}

/** Undefined for text that is not such a cursor. */
export function parseCommandCursor(cursor: string): CommandPlace | undefined {
  const [createdAt, command, device] = decode(cursor, /^(\d{1,13}) ([\w-]{1,64}) ([\w-]+)$/)
  const deviceId = parseDeviceId(device)
  if (command === undefined || deviceId === undefined) return undefined
  return { createdAt: Millis(Number(createdAt)), commandId: CommandId(command), deviceId }
}

const encode = (parts: readonly (string | number)[]) => Buffer.from(parts.join(' ')).toString('base64url')

function decode(cursor: string, pattern: RegExp): readonly (string | undefined)[] {
  return pattern.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.slice(1) ?? []
}

const isSafe = (digits: string | undefined) => Number.isSafeInteger(Number(digits))
