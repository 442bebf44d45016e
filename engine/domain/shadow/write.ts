// Writing a shadow: each write gives one outcome, as a value.
//
// A write that is refused or has no effect returns the shadow itself (R7), and only a change gets a version (R8). Each
// write is reduced to the smallest merge patch with the same effect. The history holds these patches, so replaying the
// history gives the same states.
//
// `transition` calls these functions for REST requests and for messages of the device, and keeps `outcome.shadow` in
// the record. A change becomes effects: the history entry, `desiredMessage` if `deltaMoved`, an announcement, and for a
// device's message the accepted or rejected message.
import { Buffer } from 'node:buffer'
import { Millis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Refusal } from '../../../schemas/refusals.ts'
import { LIMITS } from '../../limits.ts'
import { isDeltaMoved as isDeltaChanged, shadowDelta } from './delta.ts'
import { EMPTY } from './json-object.ts'
import { stampLeaves } from './leaf-times.ts'
import { difference, merge } from './merge.ts'
import type { Author, Section, Shadow, ShadowChange } from './record.ts'
import { checkState } from './state-check.ts'

export type ShadowOutcome =
  | {
      readonly kind: 'changed'
      readonly shadow: Shadow
      readonly change: ShadowChange
      /** True if the delta differs from the one that the device was last sent. */
      readonly deltaChanged: boolean
    }
  | { readonly kind: 'unchanged'; readonly shadow: Shadow }
  | ShadowRefusal

export type ShadowRefusal = Refusal<
  'DEVICE_SHADOW_CONFLICT' | 'PAYLOAD_TOO_LARGE' | 'VALIDATION_FAILED' | 'BAD_REQUEST'
>

export interface ShadowWrite {
  readonly now: Millis
  readonly by: Author
  readonly expectedVersion?: number | undefined
  readonly requestId?: string | undefined
}

/** `replace` also deletes the keys that the patch does not name. */
export function setDesired(
  shadow: Shadow,
  patch: JsonObject,
  options: ShadowWrite & { readonly mode: 'merge' | 'replace' },
): ShadowOutcome {
  return write(shadow, patch, { ...options, section: 'desired', isWhole: options.mode === 'replace' })
}

export function setReported(shadow: Shadow, patch: JsonObject, options: ShadowWrite): ShadowOutcome {
  return write(shadow, patch, { ...options, section: 'reported', isWhole: false })
}

function write(
  shadow: Shadow,
  patch: JsonObject,
  options: ShadowWrite & { readonly section: Section; readonly isWhole: boolean },
): ShadowOutcome {
  const { section, isWhole, expectedVersion, by, requestId } = options
  const errors = checkState(patch)
  if (errors.length > 0) return refuseState(errors)
  if (expectedVersion !== undefined && expectedVersion !== shadow.version)
    return refuseVersion(shadow, expectedVersion)
  const before = shadow[section]
  const after = merge(before, isWhole ? difference(before, merge(EMPTY, patch)) : patch)
  if (after === before) return { kind: 'unchanged', shadow }
  const actual = Buffer.byteLength(JSON.stringify(after))
  if (actual > LIMITS.shadowSideBytesMax) return refuseSize(section, actual)
  const version = shadow.version + 1
  // Each process stamps messages with its own clock, and the log orders them. A later version must not have an earlier
  // time.
  const now = Millis(Math.max(options.now, shadow.updatedAt ?? 0))
  const times = stampLeaves({ before, after, times: shadow[TIMES[section]], now })
  const changed: Shadow = {
    ...shadow,
    version,
    [section]: after,
    [TIMES[section]]: times,
    updatedAt: now,
  }
  const effective = difference(before, after)
  const previous = difference(after, before)
  return {
    kind: 'changed',
    shadow: changed,
    change: { version, at: now, section, by, patch: effective, previous, requestId },
    deltaChanged: isDeltaChanged(shadow, changed, effective),
  }
}

const TIMES = { desired: 'desiredTimes', reported: 'reportedTimes' } as const

export function refuseState(errors: ReturnType<typeof checkState>): ShadowRefusal {
  const first = errors[0]
  const message = first === undefined ? 'the state is not valid' : `${first.path || '/'}: ${first.message}`
  return { kind: 'refused', code: 'VALIDATION_FAILED', detail: { message, errors } }
}

/** The detail contains the current version and the delta, so that the caller can write again. */
function refuseVersion(shadow: Shadow, got: number): ShadowRefusal {
  const { version: expected } = shadow
  const message = `expected version ${expected}, got ${got}`
  const delta = shadowDelta(shadow).state
  return { kind: 'refused', code: 'DEVICE_SHADOW_CONFLICT', detail: { message, expected, got, delta } }
}

function refuseSize(side: Section, actual: number): ShadowRefusal {
  const limit = LIMITS.shadowSideBytesMax
  const message = `the ${side} state would be ${actual} bytes, ${actual - limit} more than ${limit}`
  return { kind: 'refused', code: 'PAYLOAD_TOO_LARGE', detail: { message, side, limit, actual } }
}
