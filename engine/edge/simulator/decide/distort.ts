// Applies a fault to a telemetry message. Pure: the seed decides which messages are affected.
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import type { Fault } from '../scenario/scenario.ts'
import { draw, hashOf } from './draw.ts'

export type DistortedMessage =
  | { readonly kind: 'sent'; readonly fields: JsonObject }
  /** A text that is not valid JSON or that is too large. */
  | { readonly kind: 'raw'; readonly text: string }
  | { readonly kind: 'dropped' }

export interface DistortedMoment {
  readonly seed: number
  readonly device: number
  readonly nth: number
  /** Seconds since the fault began. */
  readonly sinceSec: number
  /** The fields of the previous message. Undefined before the first one. */
  readonly last: JsonObject | undefined
}

const DECISION = hashOf('fault')

export function isActive(fault: Fault, elapsedSec: number): boolean {
  return elapsedSec >= fault.atSec && (fault.forSec === undefined || elapsedSec < fault.atSec + fault.forSec)
}

export function distort(fault: Fault, fields: JsonObject, moment: DistortedMoment): DistortedMessage {
  const { seed, device, nth, sinceSec, last } = moment
  const isHit = 100 * draw(seed, DECISION, device, nth) < fault.messagePercent
  switch (fault.kind) {
    case 'bad_json':
      return isHit ? { kind: 'raw', text: `${JSON.stringify(fields).slice(0, -1)},` } : sent(fields)
    case 'dropout':
      return isHit ? { kind: 'dropped' } : sent(fields)
    case 'spike':
      return isHit ? sent(mapNumbers(fields, (value) => value * fault.times)) : sent(fields)
    case 'drift':
      return sent(mapNumbers(fields, (value) => value + (fault.perMin * sinceSec) / 60))
    case 'stuck':
      return sent(last ?? fields)
    case 'oversize':
      return isHit ? { kind: 'raw', text: `{"padding":"${'x'.repeat(fault.bytes)}"}` } : sent(fields)
    case 'offline':
    case 'flap':
    case 'half_open':
    case 'slow_reader':
    case 'duplicate_acks':
    case 'late_acks':
    case 'clock_skew':
      return sent(fields)
  }
}

/** Returns true while the fault keeps the connection down. A fault without an end lasts for ever. */
export function isDown(fault: Fault, elapsedSec: number): boolean {
  if (!isActive(fault, elapsedSec)) return false
  if (fault.kind === 'offline') return true
  if (fault.kind !== 'flap') return false
  return (elapsedSec - fault.atSec) % (fault.everySec + fault.downSec) < fault.downSec
}

/** Returns when the fault next changes the connection, in seconds since the start of the simulation. Undefined means
 *  never. */
export function nextChangeSec(fault: Fault, elapsedSec: number): number | undefined {
  const end = fault.forSec === undefined ? Number.POSITIVE_INFINITY : fault.atSec + fault.forSec
  if (elapsedSec < fault.atSec) return fault.atSec
  if (elapsedSec >= end) return undefined
  if (fault.kind !== 'flap') return Number.isFinite(end) ? end : undefined
  const cycle = fault.everySec + fault.downSec
  const into = (elapsedSec - fault.atSec) % cycle
  const rest = into < fault.downSec ? fault.downSec - into : cycle - into
  return Math.min(end, elapsedSec + rest)
}

function sent(fields: JsonObject): DistortedMessage {
  return { kind: 'sent', fields }
}

function mapNumbers(fields: JsonObject, change: (value: number) => number): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]): [string, Json] => [
      name,
      typeof value === 'number' ? change(value) : value,
    ]),
  )
}
