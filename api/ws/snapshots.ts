// The state a subscription starts from.
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import type { DeviceView, Engine, Snapshot } from '../../engine/index.ts'
import type { Store } from '../../engine/ports/store.ts'
import { type DeviceId, toIso } from '../../schemas/ids.ts'
import { isInScope } from '../auth/scope.ts'
import { type DeviceBodySettings, deviceBody } from '../bodies/device-body.ts'
import type { Notice } from './notice.ts'
import { isContained, select } from './selection.ts'
import type { Scope, Subscription } from './subscription.ts'

export interface SnapshotDeps extends DeviceBodySettings {
  readonly engine: Pick<Engine, 'views' | 'snapshot'> & { readonly store: Pick<Store, 'get' | 'list'> }
  readonly limits: { readonly snapshotDevicesMax: number; readonly snapshotBytesMax: number }
}

export interface Opening {
  /** The text of the snapshot frame. */
  readonly frame: string
  /** Whether the snapshot shows what this notice says. Of each device, the first that it does not show ends that. */
  readonly isShown: (notice: Notice) => boolean
}

/** Devices asked for at once: enough to fill a batch, few enough to leave room for others. */
const ASKED_AT_ONCE = 100

export async function openSnapshot(
  subscription: Subscription,
  scope: Scope,
  deps: SnapshotDeps,
): Promise<Opening> {
  if (subscription.channel === 'devices') return openDevices(subscription, scope, deps)
  if (subscription.channel === 'telemetry') return openTelemetry(subscription, scope, deps)
  return {
    frame: new Page(subscription.id, { total: 0, listed: 0 }, deps.limits).close(),
    isShown: () => false,
  }
}

async function openDevices(subscription: Subscription, scope: Scope, deps: SnapshotDeps): Promise<Opening> {
  const { devices, total } = listDevices(subscription, scope, deps)
  const page = new Page(subscription.id, { total, listed: devices.length }, deps.limits)
  const shown = new Map<DeviceId, DeviceView>()
  for (const some of chunks(devices)) {
    const views = await deps.engine.views(some.map(({ id }) => id))
    for (const view of views) {
      // The world moved while we waited: the device may have left the filter or the scope.
      if (
        view === undefined ||
        !isInScope(view.device.group, scope.groups) ||
        !subscription.fits(view.device)
      )
        continue
      if (!page.add(JSON.stringify(deviceBody(view, deps)))) break
      shown.set(view.device.id, view)
    }
    if (page.isFull) break
  }
  return { frame: page.close(), isShown: untilFirstNew(shown, isDeviceShown) }
}

async function openTelemetry(subscription: Subscription, scope: Scope, deps: SnapshotDeps): Promise<Opening> {
  const { devices, total } = listDevices(subscription, scope, deps)
  const page = new Page(subscription.id, { total, listed: devices.length }, deps.limits)
  const shown = new Map<DeviceId, Snapshot>()
  for (const some of chunks(devices)) {
    const snapshots = await Promise.all(some.map(({ id }) => deps.engine.snapshot(id)))
    for (const [index, snapshot] of snapshots.entries()) {
      const device = some[index]
      if (snapshot === undefined || device === undefined) continue
      const { timestamp } = snapshot
      const { selection } = subscription
      const data = selection === undefined ? snapshot.data : (select(snapshot.data, selection.names) ?? {})
      const at = timestamp === undefined ? null : toIso(timestamp)
      if (!page.add(JSON.stringify({ device_id: device.id, timestamp: at, data }))) break
      shown.set(device.id, { data, timestamp })
    }
    if (page.isFull) break
  }
  return { frame: page.close(), isShown: untilFirstNew(shown, isReportShown) }
}

function listDevices(
  subscription: Subscription,
  scope: Scope,
  { engine, limits }: SnapshotDeps,
): { readonly devices: readonly DeviceRecord[]; readonly total: number } {
  const { filter, deviceId } = subscription
  if (deviceId !== undefined) {
    const device = engine.store.get(deviceId)
    const fits = device !== undefined && isInScope(device.group, scope.groups) && subscription.fits(device)
    return { devices: fits ? [device] : [], total: fits ? 1 : 0 }
  }
  return engine.store.list(
    {
      group: filter.group,
      type: filter.type,
      tags: filter.tag === undefined ? undefined : [filter.tag],
      within: scope.groups,
    },
    { offset: 0, limit: limits.snapshotDevicesMax },
  )
}

function untilFirstNew<T>(
  shown: Map<DeviceId, T>,
  isShown: (notice: Notice, shown: T) => boolean,
): Opening['isShown'] {
  return (notice) => {
    const state = shown.get(notice.deviceId)
    if (state === undefined) return false
    const is = isShown(notice, state)
    // Events come in order per device: whatever follows a new one is new.
    if (!is) shown.delete(notice.deviceId)
    return is
  }
}

function isDeviceShown({ event }: Notice, shown: DeviceView): boolean {
  if (event.kind !== 'device') return false
  const { view } = event
  const newer = view.device.revision - shown.device.revision
  if (newer !== 0) return newer < 0
  const since = (view.connectedSince ?? 0) - (shown.connectedSince ?? 0)
  return since !== 0 ? since < 0 : view.connected === shown.connected
}

/** A report older than the snapshot's newest has been merged into it. At the same millisecond the values tell. */
function isReportShown({ at, fields }: Notice, shown: Snapshot): boolean {
  if (shown.timestamp === undefined || fields === undefined) return false
  return at < shown.timestamp || (at === shown.timestamp && isContained(fields, shown.data))
}

function* chunks<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += ASKED_AT_ONCE)
    yield items.slice(start, start + ASKED_AT_ONCE)
}

/** The items of one snapshot frame, up to a number of bytes. */
class Page {
  readonly #id: string
  readonly #of: { readonly total: number; readonly listed: number }
  readonly #bytesMax: number
  readonly #items: string[] = []
  #bytes = 0
  isFull = false

  constructor(
    id: string,
    of: { readonly total: number; readonly listed: number },
    limits: SnapshotDeps['limits'],
  ) {
    this.#id = id
    this.#of = of
    this.#bytesMax = limits.snapshotBytesMax
  }

  add(item: string): boolean {
    this.#bytes += Buffer.byteLength(item) + 1
    this.isFull = this.#bytes > this.#bytesMax
    if (!this.isFull) this.#items.push(item)
    return !this.isFull
  }

  close(): string {
    const { total, listed } = this.#of
    const head = `{"type":"snapshot","id":${JSON.stringify(this.#id)},"data":[${this.#items.join(',')}]`
    return `${head},"total":${total},"truncated":${this.isFull || listed < total}}`
  }
}
