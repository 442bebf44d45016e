// A notice is one feed event as subscriptions see it. It is encoded once and sent to all that match.

import type { HeartbeatTimeouts } from '../../engine/domain/device/heartbeat.ts'
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import { unreachable } from '../../engine/domain/unreachable.ts'
import type { FeedEvent } from '../../engine/index.ts'
import type { DeploymentEvent } from '../../engine/ports/deployments.ts'
import { FLEET } from '../../engine/ports/feed.ts'
import type { HistoryRow, WrittenHistory } from '../../engine/ports/history.ts'
import type { DeviceSummary, Directory } from '../../engine/ports/store.ts'
import { type DeviceId, type Millis, toIso } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { ChannelName } from '../../schemas/ws.ts'
import { type AlertBodySettings, alertBodyOf } from '../bodies/alert-body.ts'
import { publicChannelBody } from '../bodies/channel-body.ts'
import { commandBody } from '../bodies/command-body.ts'
import { deadLetterBody } from '../bodies/dead-letter-body.ts'
import { deploymentEventBody } from '../bodies/deployment-body.ts'
import { deviceBody } from '../bodies/device-body.ts'
import { eventBody, logBody } from '../bodies/history-body.ts'
import { jobEventBody } from '../bodies/job-body.ts'
import { shadowChangeBody } from '../bodies/shadow-body.ts'
import { isCovered, merge, type Selection, select } from './selection.ts'

export interface Notice {
  readonly event: FeedEvent | DeploymentEvent
  /** Undefined for an event about a deployment as a whole. */
  readonly deviceId: DeviceId | undefined
  readonly at: Millis
  /** The end of a frame, from `"ts"` to the closing brace. */
  readonly tail: string
  /** The selected fields of a telemetry report. Undefined on other channels. */
  readonly fields: JsonObject | undefined
}

/** The properties of a device that filters and scopes use. */
export type Facts = Pick<DeviceRecord | DeviceSummary, 'group' | 'type' | 'tags'>

export const CHANNEL_OF = {
  device: 'devices',
  telemetry: 'telemetry',
  shadow: 'shadows',
  command: 'commands',
  job: 'ota',
  timeline: 'events',
  log: 'logs',
  alert: 'alerts',
  alert_channel: 'alerts',
  audit: 'audit',
  dead_letter: 'audit',
} as const satisfies Readonly<Record<FeedEvent['kind'], ChannelName>>

export interface NoticeSettings extends HeartbeatTimeouts, AlertBodySettings {
  readonly devices: Pick<Directory, 'summary'>
}

/** One feed event during the fan-out. What several subscriptions need is computed once. */
export class SharedEvent {
  readonly event: FeedEvent
  readonly deviceId: DeviceId
  readonly #settings: NoticeSettings
  #facts: Facts | undefined | null = null
  #whole: Notice | undefined
  #chosen: Map<Selection, Notice | undefined> | undefined

  constructor(event: FeedEvent, settings: NoticeSettings) {
    this.event = event
    this.deviceId = deviceIdOf(event)
    this.#settings = settings
  }

  /** Undefined for a device that has not been saved yet. */
  get facts(): Facts | undefined {
    if (this.#facts === null) this.#facts = factsOf(this.event, this.#settings)
    return this.#facts
  }

  /** Undefined if the report has none of the selected fields. */
  notice(selection: Selection | undefined): Notice | undefined {
    if (selection === undefined || this.event.kind !== 'telemetry') {
      this.#whole ??= toNotice(this.event, this.#settings)
      return this.#whole
    }
    this.#chosen ??= new Map()
    if (!this.#chosen.has(selection)) {
      const fields = select(this.event.data, selection)
      const notice = fields === undefined ? undefined : toTelemetryNotice(this.event, fields)
      this.#chosen.set(selection, notice)
    }
    return this.#chosen.get(selection)
  }
}

/** The group of an event that is not about a device: about a fleet alert or an alert channel. */
export function ownGroupOf(event: FeedEvent): string | undefined {
  if (event.kind === 'alert_channel') return event.channel.group
  const group = event.kind === 'alert' ? event.alert['group'] : undefined
  return typeof group === 'string' ? group : undefined
}

function factsOf(event: FeedEvent, { devices }: NoticeSettings): Facts | undefined {
  if (event.kind === 'device') return event.view.device
  if (event.deviceId !== FLEET) return devices.summary(event.deviceId)
  return { group: ownGroupOf(event), type: '', tags: [] }
}

function deviceIdOf(event: FeedEvent): DeviceId {
  return event.kind === 'device' ? event.view.device.id : event.deviceId
}

/** The device or command that a notice is about. A later notice on the same subject replaces an earlier one. A notice
 *  without a subject is never replaced. */
export function subjectOf({ event, deviceId }: Pick<Notice, 'event' | 'deviceId'>): string | undefined {
  if (event.kind === 'timeline' || event.kind === 'log') return undefined
  if (event.kind === 'deployment') return event.deployment.id
  if (event.kind === 'job') return `${deviceId} ${event.job.plan.deploymentId}`
  if (event.kind === 'alert' || event.kind === 'alert_channel') return undefined
  if (event.kind === 'audit' || event.kind === 'dead_letter') return undefined
  return event.kind === 'command' ? `${deviceId} ${event.command.id}` : deviceId
}

/** Merges two notices on the same subject: each field has its latest value by event time. */
export function toLatest(held: Notice, next: Notice): Notice {
  if (held.fields === undefined || next.fields === undefined) return next
  const [older, newer] = next.at < held.at ? [next, held] : [held, next]
  if (older.fields === undefined || newer.fields === undefined) return next
  if (isCovered(older.fields, newer.fields)) return newer
  return newer.event.kind === 'telemetry'
    ? toTelemetryNotice(newer.event, merge(older.fields, newer.fields))
    : next
}

function toNotice(event: FeedEvent, settings: NoticeSettings): Notice {
  if (event.kind === 'telemetry') return toTelemetryNotice(event, event.data)
  const deviceId = deviceIdOf(event)
  const body = bodyText(event, settings)
  const tail = tailOf(event.at, event.kind, event.event, deviceId, body)
  return { event, deviceId, at: event.at, tail, fields: undefined }
}

/** The notice about a deployment as a whole, for users who may see all of it. */
export function deploymentNotice(event: DeploymentEvent): Notice {
  const { at, event: name } = event
  const head = `"ts":"${toIso(at)}","channel":"ota","event":"${name}"`
  const tail = `${head},"data":${JSON.stringify(deploymentEventBody(event))}}`
  return { event, deviceId: undefined, at, tail, fields: undefined }
}

function bodyText(event: Exclude<FeedEvent, { kind: 'telemetry' }>, settings: NoticeSettings): string {
  switch (event.kind) {
    case 'device':
      return JSON.stringify(deviceBody(event.view, settings))
    case 'shadow':
      return JSON.stringify(shadowChangeBody(event.change))
    case 'command': {
      const device = settings.devices.summary(event.deviceId)
      return JSON.stringify(commandBody(event.deviceId, event.command, device))
    }
    case 'job':
      return JSON.stringify(jobEventBody(event))
    case 'timeline':
      return JSON.stringify(eventBody(readRow(event.row)))
    case 'log':
      return JSON.stringify(logBody(readRow(event.row)))
    case 'alert':
      return JSON.stringify(alertBodyOf(event.alert, settings))
    case 'alert_channel':
      return JSON.stringify(publicChannelBody(event.channel))
    case 'audit':
      return event.row.body
    case 'dead_letter':
      return JSON.stringify(deadLetterBody(event.letter))
    default:
      return unreachable(event)
  }
}

function readRow(row: WrittenHistory): HistoryRow {
  // The body was written as a JSON object.
  return { ...row, body: JSON.parse(row.body) as JsonObject }
}

function toTelemetryNotice(event: FeedEvent & { kind: 'telemetry' }, fields: JsonObject): Notice {
  const { deviceId, at } = event
  const body = `{"timestamp":"${toIso(at)}","data":${JSON.stringify(fields)}}`
  return { event, deviceId, at, tail: tailOf(at, event.kind, 'telemetry', deviceId, body), fields }
}

function tailOf(at: Millis, kind: FeedEvent['kind'], name: string, deviceId: DeviceId, body: string): string {
  const about = deviceId === FLEET ? 'null' : `"${deviceId}"`
  return `"ts":"${toIso(at)}","channel":"${CHANNEL_OF[kind]}","event":"${name}","device_id":${about},"data":${body}}`
}
