// Which events nodes want, how that changes, and what they want together.
import type { DeviceId } from '../../../schemas/ids.ts'
import { unreachable } from '../../domain/unreachable.ts'
import { LIMITS } from '../../limits.ts'
import type { FeedEvent, Want, WantedKind, Wants } from '../../ports/feed.ts'
import { isWanted } from '../feed.ts'

interface WantChange {
  readonly all: boolean
  readonly added: readonly DeviceId[]
  readonly dropped: readonly DeviceId[]
}

/** Plain data. The change from `NO_WANTS` is the whole subscription. */
export type WantsChange = Readonly<Record<WantedKind, WantChange>>

export function changeOf(before: Wants, after: Wants): WantsChange {
  return forEachKind((kind) => ({
    all: after[kind].all,
    added: without(after[kind], before[kind]),
    dropped: without(before[kind], after[kind]),
  }))
}

export function isNoChange(before: Wants, change: WantsChange): boolean {
  const same = forEachKind((kind) => {
    const { all, added, dropped } = change[kind]
    return all === before[kind].all && added.length + dropped.length === 0
  })
  return same.telemetry && same.timeline && same.log
}

export function applyChange(before: Wants, change: WantsChange): Wants {
  return forEachKind((kind) => {
    const { all, added, dropped } = change[kind]
    const devices = new Set(before[kind].devices)
    for (const id of dropped) devices.delete(id)
    for (const id of added) devices.add(id)
    return { all, devices }
  })
}

/** Widens long lists to all devices. That loses no event, but a long list would be sent again and again. */
export function widenLongLists(wants: Wants): Wants {
  return forEachKind((kind) => {
    const { all, devices } = wants[kind]
    return all || devices.size > LIMITS.feedDevicesWantedMax ? ALL : { all, devices }
  })
}

export function unionOf(all: readonly Wants[]): Wants {
  return forEachKind((kind) => {
    if (all.some((wants) => wants[kind].all)) return ALL
    return { all: false, devices: new Set(all.flatMap((wants) => [...wants[kind].devices])) }
  })
}

/** Whether the event is wanted. Events of the kinds without a subscription are for every node. */
export function isWantedBy(event: FeedEvent, wants: Wants): boolean {
  switch (event.kind) {
    case 'telemetry':
    case 'timeline':
    case 'log':
      return isWanted(wants[event.kind], event.deviceId)
    case 'device':
    case 'shadow':
    case 'command':
    case 'job':
    case 'alert':
    case 'alert_channel':
    case 'audit':
    case 'dead_letter':
      return true
    default:
      return unreachable(event)
  }
}

const ALL: Want = { all: true, devices: new Set() }

function without({ devices }: Want, { devices: others }: Want): readonly DeviceId[] {
  return [...devices].filter((id) => !others.has(id))
}

function forEachKind<T>(make: (kind: WantedKind) => T): Readonly<Record<WantedKind, T>> {
  return { telemetry: make('telemetry'), timeline: make('timeline'), log: make('log') }
}
