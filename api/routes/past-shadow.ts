// Rebuilds an earlier version of a shadow. The history has a row for each version that says how to undo its change.
//
// P1. Every row between the present version and the wanted one is needed. The state is never guessed: if a row is missing,
//     the version cannot be shown.
// - Rows reach the history a moment after the change. If a row is missing because it is new, the request waits for it, and
//   the fault is temporary if it does not come.

import { NO_TIMES } from '../../engine/domain/shadow/leaf-times.ts'
import { SECTIONS, type Shadow, type ShadowChange } from '../../engine/domain/shadow/record.ts'
import { type PastState, stepBack } from '../../engine/domain/shadow/step-back.ts'
import type { Engine } from '../../engine/index.ts'
import { Fault } from '../../engine/ports/fault.ts'
import type { HistoryPlace, HistoryRow } from '../../engine/ports/history.ts'
import { type DeviceId, Millis } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { Services } from '../http/services.ts'
import { type Refusal, refused } from '../refusal.ts'

/** Changes that one request may undo. */
const CHANGES_MAX = 2_000
const ROWS_AT_ONCE = 200
/** Rows of changes younger than this may still be on their way to the history. */
const ON_ITS_WAY_MS = 60_000
/** A request waits for such a row for three seconds. Rows usually arrive within one. */
const LOOK_EVERY_MS = 200
const LOOKS_MAX = 15

interface PastShadow {
  readonly kind: 'past'
  readonly shadow: Shadow
}

interface ShadowVersion {
  readonly deviceId: DeviceId
  readonly version: number
  readonly now: Millis
}

/** The times of its leaves are unknown. */
export async function findPastShadow(
  { engine, schedule }: Pick<Services, 'engine' | 'schedule'>,
  present: Shadow,
  wanted: ShadowVersion,
): Promise<PastShadow | Refusal> {
  for (let looks = 1; ; looks++) {
    const past = await rebuild(engine, present, wanted)
    if (past !== 'on_its_way') return past
    if (looks === LOOKS_MAX)
      throw new Fault('TELEMETRY_UNAVAILABLE', {
        retryable: true,
        message: 'the last change is not stored yet',
      })
    await schedule.sleep(LOOK_EVERY_MS)
  }
}

async function rebuild(
  engine: Pick<Engine, 'history'>,
  present: Shadow,
  { deviceId, version, now }: ShadowVersion,
): Promise<PastShadow | Refusal | 'on_its_way'> {
  if (version === present.version) return { kind: 'past', shadow: present }
  if (version > present.version)
    return refused('NOT_FOUND', {
      message: `the shadow is at version ${present.version}, and has no version ${version} yet`,
    })
  if (present.version - version > CHANGES_MAX) return tooOld(version, `more than ${CHANGES_MAX} changes ago`)
  let state: PastState = present
  for await (const row of changesOf(engine, deviceId)) {
    const change = toChange(row)
    // These changes came after the shadow was read.
    if (change !== undefined && change.version > present.version) continue
    // By P1.
    if (change?.version !== state.version) break
    if (change.version === version) return past(state, change.at)
    state = stepBack(state, change)
    if (state.version === 0) return past(state, undefined)
  }
  if (state === present && now - (present.updatedAt ?? 0) < ON_ITS_WAY_MS) return 'on_its_way'
  return tooOld(version, `the history does not have change ${state.version}`)
}

async function* changesOf(engine: Pick<Engine, 'history'>, deviceId: DeviceId): AsyncIterable<HistoryRow> {
  let before: HistoryPlace | undefined
  for (let read = 0; read <= CHANGES_MAX; read += ROWS_AT_ONCE) {
    const rows = await engine.history({ deviceId, kinds: ['shadow'], before, limit: ROWS_AT_ONCE })
    yield* rows
    before = rows.at(-1)
    if (rows.length < ROWS_AT_ONCE) return
  }
}

type Change = Pick<ShadowChange, 'version' | 'at' | 'section' | 'previous'>

function toChange({ at, body }: HistoryRow): Change | undefined {
  const { version, previous } = body
  const section = SECTIONS.find((one) => one === body['section'])
  if (typeof version !== 'number' || section === undefined) return undefined
  if (typeof previous !== 'object' || previous === null || Array.isArray(previous)) return undefined
  // The checks above leave only objects, but the JSON type cannot express this.
  return { version, at: Millis(Math.floor(at / 1000)), section, previous: previous as JsonObject }
}

function past({ version, desired, reported }: PastState, updatedAt: Millis | undefined): PastShadow {
  const times = { desiredTimes: NO_TIMES, reportedTimes: NO_TIMES }
  return { kind: 'past', shadow: { version, desired, reported, ...times, updatedAt } }
}

function tooOld(version: number, why: string): Refusal {
  return refused('SHADOW_VERSION_GONE', { message: `version ${version} cannot be rebuilt: ${why}` })
}
