// The notice that a moved alert leaves for the notifier. It is written in the same save as the move, so neither exists without
// the other.
import type { AlertId, ChannelId, Millis, RuleId } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { AlertGrouping, AlertSeverity, NoticeEvent } from '../../../schemas/vocabulary.ts'
import { newPackr } from '../packing.ts'

export type { NoticeEvent }

export interface NoticeDevice {
  readonly id: string
  readonly name: string
  readonly type: string
  readonly group: string | undefined
}

export interface Notice {
  readonly alertId: AlertId
  readonly ruleId: RuleId
  readonly ruleName: string
  readonly event: NoticeEvent
  /** The alert's revision after the move. It grows with every move of the alert and orders its notices. */
  readonly revision: number
  readonly at: Millis
  readonly severity: AlertSeverity
  /** Highest severity of the episode so far. The filters of channels judge it, for the end of an alert as well. */
  readonly highestSeverity: AlertSeverity
  /** The rule's channels. Undefined means the channels that are default; an empty list means nobody. */
  readonly channels: readonly ChannelId[] | undefined
  readonly groupBy: AlertGrouping
  readonly sendResolved: boolean
  /** The rule's message, with its placeholders filled in. */
  readonly message: string
  /** What mutes it, as in the alert's `suppressed_by`. A muted notice is sent to nobody. Once nothing mutes the alert any
   *  more, another notice says that it fires. */
  readonly suppressedBy: readonly string[]
  /** The alert as REST shows it, at this revision, but for `link`. Templates read it. */
  readonly alert: JsonObject
  /** Undefined for an alert about a fleet. */
  readonly device: NoticeDevice | undefined
}

const packr = newPackr()

export function encodeNotice(notice: Notice): Uint8Array {
  return packr.pack(notice)
}

export function decodeNotice(bytes: Uint8Array): Notice {
  // Written by encodeNotice.
  return packr.unpack(bytes) as Notice
}

const DIGITS_AT = 16
const DIGITS_REVISION = 10

/** Notices are taken in the order of their keys: by time, and those of one alert by revision. The same move has the same
 *  key. */
export function noticeKey({ at, alertId, revision }: Pick<Notice, 'at' | 'alertId' | 'revision'>): string {
  return `${digits(at, DIGITS_AT)}-${alertId}-${digits(revision, DIGITS_REVISION)}`
}

function digits(value: number, count: number): string {
  return String(value).padStart(count, '0')
}
