// The initial state for a subscription.
import { chunks } from '../../engine/domain/chunks.ts'
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import { type Deployment, isFinalStatus } from '../../engine/domain/ota/deployment.ts'
import { unreachable } from '../../engine/domain/unreachable.ts'
import { LIMITS } from '../../engine/limits.ts'
import type { AuditPlace, AuditRow } from '../../engine/ports/audit.ts'
import type { HistoryKey, HistoryKind } from '../../engine/ports/history.ts'
import { type DeviceId, parseDeviceId } from '../../schemas/ids.ts'
import { readSelected, selectFleet } from '../auth/fleet-selection.ts'
import { isInScope } from '../auth/scope.ts'
import { timelineKinds } from '../auth/timeline-access.ts'
import { alertBodyOf } from '../bodies/alert-body.ts'
import { deploymentBody } from '../bodies/deployment-body.ts'
import { eventBody, logBody } from '../bodies/history-body.ts'
import type { Notice } from './notice.ts'
import { Page } from './snapshot-page.ts'
import {
  commandsSource,
  devicesSource,
  type SnapshotCall,
  type SnapshotPorts,
  type Source,
  shadowsSource,
  telemetrySource,
} from './snapshot-sources.ts'
import type { Scope, Subscription } from './subscription.ts'

export interface OpenedSnapshot {
  /** The text of the snapshot frame. */
  readonly frame: string
  /** Number of devices that were queried. */
  readonly devices: number
  /** Whether the snapshot already shows this notice. For each device, the result is false from the first notice on that the
   *  snapshot does not show. */
  readonly isShown: (notice: Notice) => boolean
}

/** Devices queried at once: enough to fill a batch, few enough to leave room for others. */
const DEVICES_AT_ONCE = 100

export async function openSnapshot(
  subscription: Subscription,
  scope: Scope,
  ports: SnapshotPorts,
): Promise<OpenedSnapshot> {
  const call = { subscription, scope, ports }
  switch (subscription.channel) {
    case 'devices':
      return openFrom(call, devicesSource(call))
    case 'telemetry':
      return openFrom(call, telemetrySource(call))
    case 'shadows':
      return openFrom(call, shadowsSource(call))
    case 'commands':
      return openFrom(call, commandsSource(call))
    case 'ota':
      return openDeployments(call)
    case 'logs':
      return openHistory(call, ['log'])
    case 'events':
      return openHistory(call, timelineKinds(scope.role))
    case 'alerts':
      return openAlerts(call)
    case 'audit':
      return openAudit(call)
    default:
      return unreachable(subscription.channel)
  }
}

async function openFrom<State>(
  { subscription, scope, ports }: SnapshotCall,
  { read, items, isShown }: Source<State>,
): Promise<OpenedSnapshot> {
  const { devices, total } = listDevices(subscription, scope, ports)
  const page = new Page(subscription.id, { total, isMore: devices.length < total }, ports.limits)
  const shown = new Map<DeviceId, State>()
  for (const batch of chunks(devices, DEVICES_AT_ONCE)) {
    const states = await read(batch)
    for (const [index, device] of batch.entries()) {
      const state = states[index]
      const found = state === undefined ? undefined : items(device, state)
      if (state === undefined || found === undefined) continue
      if (!page.add(found.map((item) => JSON.stringify(item)))) break
      shown.set(device.id, state)
    }
    if (page.isFull) break
  }
  return { frame: page.close(), devices: devices.length, isShown: untilFirstNew(shown, isShown) }
}

/** The newest entries, newest first. Entries of about the last second may still be on their way into the history. */
async function openHistory(call: SnapshotCall, kinds: readonly HistoryKind[]): Promise<OpenedSnapshot> {
  const { subscription, ports } = call
  const { limits } = ports
  const { rows, isMore } = await newestRows(call, kinds)
  const page = new Page(subscription.id, { total: undefined, isMore }, limits)
  const shown = new Set<string>()
  for (const row of rows) {
    const body = row.kind === 'log' ? logBody(row) : eventBody(row)
    if (!page.add([JSON.stringify({ device_id: row.deviceId, ...body })])) break
    shown.add(keyOf(row.deviceId, row))
  }
  const isShown = ({ event }: Notice) =>
    (event.kind === 'timeline' || event.kind === 'log') && shown.has(keyOf(event.deviceId, event.row))
  // Searching the history of all devices costs as much as the largest snapshot of another kind.
  const devices = subscription.deviceId === undefined ? limits.snapshotDevicesMax : 1
  return { frame: page.close(), devices, isShown }
}

async function newestRows({ subscription, scope, ports }: SnapshotCall, kinds: readonly HistoryKind[]) {
  const { engine, limits } = ports
  const limit = limits.snapshotEntriesMax
  const { deviceId, filter } = subscription
  if (deviceId !== undefined) {
    const [device] = listDevices(subscription, scope, ports).devices
    const rows = device ? await engine.history({ deviceId: device.id, kinds, limit: limit + 1 }) : []
    return { rows: rows.slice(0, limit), isMore: rows.length > limit }
  }
  const selection = selectFleet(engine, filter, scope.groups)
  if (selection === undefined) return { rows: [], isMore: false }
  const { rows, next } = await readSelected(engine, selection, { kinds, limit })
  return { rows, isMore: next !== undefined }
}

/** The newest entries of the audit, newest first. */
async function openAudit({ subscription, ports }: SnapshotCall): Promise<OpenedSnapshot> {
  const { limits } = ports
  const { deviceId } = subscription
  const { rows, isMore } = await newestAudit(subscription, ports)
  const page = new Page(subscription.id, { total: undefined, isMore }, limits)
  const shown = new Set<string>()
  for (const { at, version, body } of rows) {
    if (!page.add([JSON.stringify(body)])) break
    shown.add(`${at} ${version}`)
  }
  const isShown = ({ event }: Notice) =>
    event.kind === 'audit' && shown.has(`${event.row.at} ${event.row.version}`)
  // Costs as much as searching the history of all devices.
  return { frame: page.close(), devices: deviceId === undefined ? limits.snapshotDevicesMax : 1, isShown }
}

/** Entries per read, and reads per snapshot, if some entries have to be left out. */
const AUDIT_AT_ONCE = 1_000
const AUDIT_READS_MAX = 5

async function newestAudit(subscription: Subscription, { engine, limits }: SnapshotPorts) {
  const { deviceId } = subscription
  const most = limits.snapshotEntriesMax
  const fitting: AuditRow[] = []
  let before: AuditPlace | undefined
  for (let read = 1, limit = most + 1; ; read++, limit = AUDIT_AT_ONCE) {
    const rows = await engine.audit({ deviceId, before, limit })
    for (const row of rows) {
      const about = parseDeviceId(row.body['device_id'])
      if (subscription.fits(about && engine.devices.summary(about))) fitting.push(row)
    }
    before = rows.length < limit ? undefined : rows.at(-1)
    if (fitting.length > most || before === undefined || read === AUDIT_READS_MAX) break
  }
  return { rows: fitting.slice(0, most), isMore: fitting.length > most || before !== undefined }
}

/** The open alerts. The snapshot already shows a change if its revision is at most that of the alert shown. */
async function openAlerts({ subscription, scope, ports }: SnapshotCall): Promise<OpenedSnapshot> {
  const { limits, engine } = ports
  const { deviceId, filter } = subscription
  // Lists of alerts know no types and tags of devices.
  const isNarrow = filter.type !== undefined || filter.tag !== undefined
  const found = await engine.alerts.list({
    states: ['firing', 'recovering'],
    deviceId,
    group: filter.group,
    within: scope.groups,
    limit: isNarrow ? LIMITS.alertsListedMax : limits.snapshotDevicesMax,
  })
  const fitting = found.alerts.filter(({ device_id: id, group }) => {
    const about = parseDeviceId(id)
    if (about !== undefined) return subscription.fits(engine.devices.summary(about))
    return subscription.fits({ group: typeof group === 'string' ? group : undefined, type: '', tags: [] })
  })
  const some = fitting.slice(0, limits.snapshotDevicesMax)
  const page = new Page(
    subscription.id,
    {
      total: isNarrow ? fitting.length : found.total - (found.alerts.length - fitting.length),
      isMore: fitting.length > some.length || found.total > found.alerts.length,
    },
    limits,
  )
  const shown = new Map<unknown, unknown>()
  for (const alert of some) {
    if (!page.add([JSON.stringify(alertBodyOf(alert, ports))])) break
    shown.set(alert['alert_id'], alert['revision'])
  }
  const isShown = ({ event }: Notice) =>
    event.kind === 'alert' &&
    event.event !== 'alert.pending' &&
    Number(event.alert['revision']) <= Number(shown.get(event.alert['alert_id']) ?? 0)
  return { frame: page.close(), devices: some.length, isShown }
}

/** The open deployments, or the requested one. The snapshot already shows a change that is not newer than itself. */
async function openDeployments({ subscription, scope, ports }: SnapshotCall): Promise<OpenedSnapshot> {
  const { limits, engine } = ports
  const { deviceId, filter } = subscription
  const states = (await engine.deployments.list(deviceId)).filter(
    ({ deployment }) =>
      (filter.deployment_id !== undefined || !isFinalStatus(deployment.status)) &&
      deployment.groups.every((group) => isInScope(group, scope.groups)) &&
      subscription.fitsDeployment(deployment),
  )
  const some = states.slice(0, limits.snapshotDevicesMax)
  const page = new Page(
    subscription.id,
    { total: states.length, isMore: some.length < states.length },
    limits,
  )
  const shown = new Map<string, Deployment>()
  for (const state of some) {
    if (!page.add([JSON.stringify(deploymentBody(state))])) break
    shown.set(state.deployment.id, state.deployment)
  }
  const isShown = ({ event }: Notice) => {
    const known = event.kind === 'deployment' ? shown.get(event.deployment.id) : undefined
    if (event.kind !== 'deployment' || known === undefined) return false
    const { revision, counts } = event.deployment
    const isSame = revision === known.revision && JSON.stringify(counts) === JSON.stringify(known.counts)
    return revision < known.revision || isSame
  }
  return { frame: page.close(), devices: some.length, isShown }
}

const keyOf = (deviceId: DeviceId, { kind, at, version }: Omit<HistoryKey, 'deviceId'>) =>
  `${deviceId} ${kind} ${at} ${version}`

function listDevices(
  subscription: Subscription,
  scope: Scope,
  { engine, limits }: SnapshotPorts,
): { readonly devices: readonly DeviceRecord[]; readonly total: number } {
  const { filter, deviceId } = subscription
  if (deviceId !== undefined) {
    const device = engine.devices.get(deviceId)
    const fits = device !== undefined && isInScope(device.group, scope.groups) && subscription.fits(device)
    return { devices: fits ? [device] : [], total: fits ? 1 : 0 }
  }
  return engine.devices.list(
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
): OpenedSnapshot['isShown'] {
  return (notice) => {
    const { deviceId } = notice
    const state = deviceId && shown.get(deviceId)
    if (deviceId === undefined || state === undefined) return false
    const isCovered = isShown(notice, state)
    // Events of a device arrive in order, so everything after a new one is new.
    if (!isCovered) shown.delete(deviceId)
    return isCovered
  }
}
