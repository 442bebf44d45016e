// The language of the stories. Each line is an event of a device, a request, or a question about the device.
import { BroadcastId, CommandId, Millis } from '../../../../schemas/ids.ts'
import type { JsonObject } from '../../../../schemas/json.ts'
import { toAck } from '../../command/ack-message.ts'
import type { NamedFault } from '../../telemetry/diagnostics.ts'
import type { DescribedDevice, DeviceEvent, DeviceRequest } from '../events.ts'

export type Step =
  | { readonly kind: 'event'; readonly event: DeviceEvent; readonly isHeard: boolean }
  | { readonly kind: 'request'; readonly request: DeviceRequest; readonly by: string }
  | { readonly kind: 'connects' | 'disconnects' | 'turns_well' | 'looks' }

/** Monday, the 5th of January 2026. */
const FIRST_DAY = Date.UTC(2026, 0, 5)
const DAY_MS = 86_400_000
const TIME = /^(?:day (\d+) )?(\d\d):(\d\d):(\d\d)(?:\.(\d{3}))? (.+)$/

export function parseLine(line: string): { readonly at: Millis; readonly step: Step } {
  const [, day = '1', hours, minutes, seconds, ms = '0', words = ''] = TIME.exec(line) ?? []
  const secondOfDay = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)
  const at = Millis(FIRST_DAY + (Number(day) - 1) * DAY_MS + secondOfDay * 1000 + Number(ms))
  if (Number.isNaN(at)) throw new Error(`a line begins with its time: ${line}`)
  for (const [pattern, toStep] of PHRASES) {
    const found = pattern.exec(words)
    if (found !== null) return { at, step: toStep(found.groups ?? {}, at) }
  }
  throw new Error(`not a phrase of a story: ${line}`)
}

/** Formats a time as story lines begin. The first day is left out. */
export function toTime(at: number): string {
  const iso = new Date(at).toISOString()
  const day = Math.floor((at - FIRST_DAY) / DAY_MS) + 1
  return `${day === 1 ? '' : `day ${day} `}${iso.slice(11, 19)}${iso.endsWith('.000Z') ? '' : iso.slice(19, 23)}`
}

type Groups = Readonly<Record<string, string | undefined>>
type Phrase = readonly [RegExp, (groups: Groups, at: Millis) => Step]

const JSON_ = String.raw`(?<json>\{.*?\})`
const VERSION = String.raw`(?: on version (?<version>\d+))?`
const OF_A_COMMAND = [
  String.raw`(?: as (?<priority>\w+))?`,
  String.raw`(?: within (?<timeout>\d+) s)?`,
  String.raw`(?: not before (?<later>\d+) s)?`,
  String.raw`(?: with key (?<key>\w+))?`,
  String.raw`(?: for broadcast (?<broadcast>\w+))?`,
].join('')

const PHRASES: readonly Phrase[] = [
  [/^device connects$/, () => ({ kind: 'connects' })],
  [/^device disconnects$/, () => ({ kind: 'disconnects' })],
  [/^device publishes$/, (_, at) => said({ kind: 'heard', seenAt: at })],
  [
    /^device leaves: (?<reason>.+)$/,
    ({ reason = '' }, at) => ({ ...said({ kind: 'left', reason, seenAt: at }), isHeard: false }),
  ],
  [
    /^device diagnoses (?<fault>.+)$/,
    ({ fault = '' }) => said({ kind: 'diagnosed', faults: toFaults(fault) }),
  ],
  [/^device turns well$/, () => ({ kind: 'turns_well' })],
  [/^device runs (?<version>\S+)$/, ({ version = '' }) => said({ kind: 'described', report: runs(version) })],
  [new RegExp(`^device reports ${JSON_}${VERSION}$`), toReport],
  [/^device asks for its shadow$/, () => said({ kind: 'shadow_wanted', part: 'document' })],
  [/^device writes shadow\/desired$/, () => said({ kind: 'shadow_wanted', part: 'desired' })],
  [/^device has (?<what>the cancel of )?(?<id>\w+)$/, toDelivered],
  [new RegExp(String.raw`^device answers (?<id>\w+) (?<status>\w+)(?: ${JSON_})?$`), toAnswer],
  [/^the service looks$/, () => ({ kind: 'looks' })],
  [
    new RegExp(`^(?<by>\\w+) registers ${JSON_}$`),
    ({ by, json }) => asked(by, { kind: 'register', ...parse(json) }),
  ],
  [new RegExp(`^(?<by>\\w+) (?<verb>edits|replaces) ${JSON_}(?: if revision (?<revision>\\d+))?$`), toEdit],
  [
    /^(?<by>\w+) sets status (?<status>\w+)(?: because (?<reason>.+))?$/,
    ({ by, status, reason }) => asked(by, { kind: 'edit', replace: false, status, statusReason: reason }),
  ],
  [
    /^(?<by>\w+) decommissions(?: because (?<reason>.+))?$/,
    ({ by, reason }) => asked(by, { kind: 'decommission', reason }),
  ],
  [
    /^(?<by>\w+) purges the device of (?<seconds>\d+) s ago$/,
    ({ by, seconds }, at) => asked(by, { kind: 'purge', createdAt: Millis(at - Number(seconds) * 1000) }),
  ],
  [new RegExp(`^(?<by>\\w+) wants(?<exactly> exactly)? ${JSON_}${VERSION}$`), toDesire],
  [new RegExp(`^(?<by>\\w+) sends (?<id>\\w+) (?<name>\\S+)(?: ${JSON_})?${OF_A_COMMAND}$`), toCommand],
  [/^(?<by>\w+) cancels (?<id>\w+)$/, ({ by, id = '' }) => asked(by, { kind: 'cancel', id: CommandId(id) })],
]

function runs(version: string): DescribedDevice {
  const nothing = { sha256: undefined, bootId: undefined, session: undefined }
  return { version, ...nothing, boot: 'unsaid', mayBeOld: false }
}

function toFaults(said: string): readonly NamedFault[] {
  return said.split(' and ').map((text) => ({ name: text.split(': ', 1)[0] ?? '', text }))
}

function toReport({ json, version }: Groups): Step {
  const expectedVersion = version === undefined ? undefined : Number(version)
  return said({
    kind: 'reported',
    patch: parse(json),
    expectedVersion,
    clientToken: undefined,
    messageId: 'm1',
  })
}

/** A PUBACK does not count as a sign of life. */
function toDelivered({ what, id = '' }: Groups): Step {
  const message = what === undefined ? 'command' : 'cancel'
  return { ...said({ kind: 'delivered', commandId: CommandId(id), message }), isHeard: false }
}

function toAnswer({ id = '', status = '', json = '{}' }: Groups): Step {
  const ack = toAck({ request_id: id, status, ...parse(json) })
  if (ack.kind === 'refused') throw new Error(ack.detail)
  return said({ kind: 'acked', ack })
}

function toEdit({ by, verb, json, revision }: Groups): Step {
  const ifRevision = revision === undefined ? undefined : Number(revision)
  return asked(by, { kind: 'edit', replace: verb === 'replaces', ifRevision, ...parse(json) })
}

function toDesire({ by, exactly, json, version }: Groups): Step {
  const mode = exactly === undefined ? 'merge' : 'replace'
  const expectedVersion = version === undefined ? undefined : Number(version)
  return asked(by, { kind: 'desire', patch: parse(json), mode, expectedVersion })
}

function toCommand(groups: Groups, at: Millis): Step {
  const { by, id = '', name = '', json, priority, timeout, later, key, broadcast } = groups
  const wish = {
    name,
    data: json === undefined ? undefined : parse(json),
    // Any other priority would show up in the story.
    priority: priority as 'critical' | undefined,
    timeoutSec: timeout === undefined ? undefined : Number(timeout),
    notBefore: later === undefined ? undefined : Millis(at + Number(later) * 1000),
    idempotencyKey: key,
    broadcastId: broadcast === undefined ? undefined : BroadcastId(broadcast),
  }
  return asked(by, { kind: 'command', id: CommandId(id), wish })
}

function said(event: DeviceEvent): Extract<Step, { kind: 'event' }> {
  return { kind: 'event', event, isHeard: true }
}

function asked(by = '', request: object): Step {
  // The rest of the request stands in the story as its schema returns it.
  return { kind: 'request', request: request as DeviceRequest, by }
}

function parse(json = '{}'): JsonObject {
  return JSON.parse(json)
}
