// The outcome of an event as lines of a story: the changes of the record, and the effects.
//
// What always holds is only shown if it does not: a changed record has the next revision and is updated now, and a
// changed status holds from now.
import { Buffer } from 'node:buffer'
import { isDeepStrictEqual } from 'node:util'
import type { Millis } from '../../../../schemas/ids.ts'
import { REFUSALS } from '../../../../schemas/refusals.ts'
import type { Command } from '../../command/record.ts'
import { shadowDelta } from '../../shadow/delta.ts'
import type { Author, Shadow } from '../../shadow/record.ts'
import { unreachable } from '../../unreachable.ts'
import type { Effect } from '../events.ts'
import { type Device, type DeviceRecord, toRecord } from '../record.ts'
import { toTime } from './story-language.ts'

export function effectLines(effect: Effect): readonly string[] {
  if (effect.kind !== 'announce' || effect.event === 'device.updated') return [effectLine(effect)]
  const who = effect.by === undefined ? '' : ` by ${authorOf(effect.by)}`
  return [effectLine(effect), line('history', `${effect.cause}${who}`)]
}

function effectLine(effect: Effect): string {
  switch (effect.kind) {
    case 'refuse':
      return line('refused', `${REFUSALS[effect.code].status} ${effect.code} ${show(effect.detail)}`)
    case 'cut':
      return line('cut off', 'sessions end, tokens are void, retained topics are cleared')
    case 'forget':
      return line('record', 'forgotten')
    case 'end_sessions':
      return line('cut off', 'sessions end, earlier tokens are void')
    case 'publish': {
      const { suffix, payload, qos, retain } = effect.message
      return line('device', `${suffix}, QoS ${qos}${retain ? ', retained' : ''}: ${Buffer.from(payload)}`)
    }
    case 'shadow_changed': {
      const { version, section, by, patch, previous } = effect.change
      const what = `shadow ${version}, ${section} by ${authorOf(by)}`
      return line('history', `${what}: ${show(patch)}, was ${show(previous)}`)
    }
    case 'command_moved':
      return line('/ws', `command.status ${effect.command.id} ${effect.command.status}`)
    case 'job_moved':
      return line('/ws', `deployment.device ${effect.job.plan.deploymentId} ${effect.job.status}`)
    case 'ota':
      return line('device', `ota: ${show(effect.send)}`)
    case 'alert_moved':
      return line('/ws', `alert ${effect.move.event} ${effect.move.alert.ruleName}`)
    case 'answer':
      return line('answer', `${effect.command.id} ${effect.command.status}`)
    case 'announce':
      return line('/ws', effect.event)
    default:
      return unreachable(effect)
  }
}

/** The changes between two versions of a device. */
export function changeLines(before: Device | undefined, after: Device, now: Millis): readonly string[] {
  return [
    ...recordLines(before && toRecord(before), toRecord(after), now),
    ...(before === undefined || before.shadow === after.shadow ? [] : [shadowLine(after.shadow)]),
    ...commandLines(before?.commands ?? [], after.commands),
  ]
}

export function deadlineLine(at: number): string {
  return line('look', at === Number.POSITIVE_INFINITY ? 'not needed' : `at ${toTime(at)}`)
}

function recordLines(before: DeviceRecord | undefined, after: DeviceRecord, now: Millis): readonly string[] {
  if (before === undefined) return [line('record', show(set(after)))]
  if (isDeepStrictEqual(before, after)) return []
  const expected = {
    ...before,
    revision: before.revision + 1,
    updatedAt: now,
    statusSince: before.status === after.status ? before.statusSince : now,
  }
  return [line('record', [`revision ${after.revision}`, ...differences(expected, after)].join(', '))]
}

function shadowLine(shadow: Shadow): string {
  const { version, desired, reported } = shadow
  const delta = show(shadowDelta(shadow).state)
  return line('shadow', `${version}: desired ${show(desired)}, reported ${show(reported)}, delta ${delta}`)
}

function commandLines(before: readonly Command[], after: readonly Command[]): readonly string[] {
  const known = new Map(before.map((command) => [command.id, command]))
  const kept = new Set(after.map(({ id }) => id))
  return [
    ...after.flatMap((command) => {
      const was = known.get(command.id)
      if (was === command) return []
      if (was !== undefined) return line('command', `${command.id}: ${differences(was, command).join(', ')}`)
      const { id, name, data, priority, expiresAt } = command
      return line('command', `${id}: ${name} ${show(data)}, ${priority}, expires ${toTime(expiresAt)}`)
    }),
    ...before.filter(({ id }) => !kept.has(id)).map(({ id }) => line('command', `${id}: forgotten`)),
  ]
}

/** Nested fields are named by their paths. */
function differences(before: object, after: object, path = ''): readonly string[] {
  return Object.keys({ ...before, ...after }).flatMap((name) => {
    const [was, is]: unknown[] = [Reflect.get(before, name), Reflect.get(after, name)]
    if (isDeepStrictEqual(was, is)) return []
    if (isNested(was) && isNested(is)) return differences(was, is, `${path}${name}.`)
    const arrow = name === 'status' ? `${String(was)} → ` : ''
    return [`${path}${name} ${arrow}${showField(name, is)}`]
  })
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function authorOf({ kind, id }: Author): string {
  return kind === 'device' ? 'the device' : `${kind} ${id}`
}

function set(record: DeviceRecord): object {
  const { id: _, statusSince: __, tokensValidFrom: ___, createdAt: ____, updatedAt: _____, ...rest } = record
  const isSaid = (value: unknown) =>
    value !== undefined && !isDeepStrictEqual(value, []) && show(value) !== '{}'
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => isSaid(value)))
}

function showField(name: string, value: unknown): string {
  if (value === undefined) return 'none'
  if (typeof value === 'number' && /(At|Since|From|notBefore)$/.test(name)) return toTime(value)
  return typeof value === 'string' ? value : show(value)
}

/** Writes times as the rest of the story does. */
function show(value: unknown): string {
  return JSON.stringify(value, (name, inner: unknown) =>
    (typeof inner === 'number' && /(At|Since|From)$/.test(name)) || name === 'at'
      ? toTime(Number(inner))
      : inner,
  )
}

function line(label: string, text: string): string {
  return `    ${label.padEnd(8)} ${text}`
}
