// The state a subscription starts from.
import { isOpen } from '../../engine/domain/command/moves.ts'
import type { Command } from '../../engine/domain/command/record.ts'
import type { HeartbeatTimeouts } from '../../engine/domain/device/heartbeat.ts'
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import { type Deployment, isFinalStatus } from '../../engine/domain/ota/deployment.ts'
import { toDocument } from '../../engine/domain/shadow/messages.ts'
import type { Shadow } from '../../engine/domain/shadow/record.ts'
import { unreachable } from '../../engine/domain/unreachable.ts'
import type { DeviceView, Snapshot } from '../../engine/index.ts'
import type { HistoryKey, HistoryKind } from '../../engine/ports/history.ts'
import { type DeviceId, parseDeviceId, toIso } from '../../schemas/ids.ts'
import { COMMAND_STATUSES } from '../../schemas/vocabulary.ts'
import { readSelected, selectFleet } from '../auth/fleet-selection.ts'
import { isInScope } from '../auth/scope.ts'
import { timelineKinds } from '../auth/timeline-access.ts'
import { type AlertBodySettings, alertBodyOf } from '../bodies/alert-body.ts'
import { commandBody } from '../bodies/command-body.ts'
import { deploymentBody } from '../bodies/deployment-body.ts'
import { deviceBody } from '../bodies/device-body.ts'
import { eventBody, logBody } from '../bodies/history-body.ts'
import type { Notice } from './notice.ts'
import { isContained, select } from './selection.ts'
import type { SocketEngine } from './socket-engine.ts'
import type { Scope, Subscription } from './subscription.ts'

export interface SnapshotPorts extends HeartbeatTimeouts, AlertBodySettings {
  readonly engine: Omit<SocketEngine, 'feed' | 'fleet'>
  readonly limits: {
    readonly snapshotDevicesMax: number
    readonly snapshotEntriesMax: number
    readonly snapshotBytesMax: number
  }
}

export interface Opening {
  /** The text of the snapshot frame. */
  readonly frame: string
  /** Number of devices that were asked about. */
  readonly devices: number
  /** Whether the snapshot already shows this notice. For each device it is false from the first notice on that it does
   *  not show. */
  readonly isShown: (notice: Notice) => boolean
}

/** Devices asked for at once: enough to fill a batch, few enough to leave room for others. */
const ASKED_AT_ONCE = 100

/** How a channel shows a device in its snapshot. */
interface Source<State> {
  ask(devices: readonly DeviceRecord[]): Promise<readonly (State | undefined)[]>
  /** The items of the frame; undefined for a device that is left out after all. */
  items(device: DeviceRecord, state: State): readonly object[] | undefined
  /** Whether the snapshot shows what this notice tells. */
  isShown(notice: Notice, shown: State): boolean
}

export async function openSnapshot(
  subscription: Subscription,
  scope: Scope,
  ports: SnapshotPorts,
): Promise<Opening> {
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

interface Call {
  readonly subscription: Subscription
  readonly scope: Scope
  readonly ports: SnapshotPorts
}

async function openFrom<State>(
  { subscription, scope, ports }: Call,
  { ask, items, isShown }: Source<State>,
): Promise<Opening> {
  const { devices, total } = listDevices(subscription, scope, ports)
  const page = new Page(subscription.id, { total, isMore: devices.length < total }, ports.limits)
  const shown = new Map<DeviceId, State>()
  for (const some of chunks(devices)) {
    const states = await ask(some)
    for (const [index, device] of some.entries()) {
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

/** The newest entries, newest first. What is on its way into the history is in neither: it takes about a second. */
async function openHistory(call: Call, kinds: readonly HistoryKind[]): Promise<Opening> {
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
  // A search through the history of all devices costs as much as the largest snapshot of another kind.
  const devices = subscription.deviceId === undefined ? limits.snapshotDevicesMax : 1
  return { frame: page.close(), devices, isShown }
}

async function newestRows({ subscription, scope, ports }: Call, kinds: readonly HistoryKind[]) {
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
async function openAudit({ subscription, ports }: Call): Promise<Opening> {
  const { engine, limits } = ports
  const { deviceId } = subscription
  const limit = limits.snapshotEntriesMax
  const rows = await engine.audit({ deviceId, limit: limit + 1 })
  const page = new Page(subscription.id, { total: undefined, isMore: rows.length > limit }, limits)
  const shown = new Set<string>()
  for (const { at, version, body } of rows.slice(0, limit)) {
    const about = parseDeviceId(body['device_id'])
    if (!subscription.fits(about && engine.devices.summary(about))) continue
    if (!page.add([JSON.stringify(body)])) break
    shown.add(`${at} ${version}`)
  }
  const isShown = ({ event }: Notice) =>
    event.kind === 'audit' && shown.has(`${event.row.at} ${event.row.version}`)
  // Like a search through the history of all devices.
  return { frame: page.close(), devices: deviceId === undefined ? limits.snapshotDevicesMax : 1, isShown }
}

/** The open alerts. A move that the snapshot shows already has its revision at most. */
async function openAlerts({ subscription, scope, ports }: Call): Promise<Opening> {
  const { limits, engine } = ports
  const { deviceId, filter } = subscription
  const found = await engine.alerts.list({
    states: ['firing', 'recovering'],
    deviceId,
    group: filter.group,
    within: scope.groups,
    limit: limits.snapshotDevicesMax,
  })
  const fitting = found.alerts.filter(({ device_id: id, group }) => {
    const about = parseDeviceId(id)
    if (about !== undefined) return subscription.fits(engine.devices.summary(about))
    return subscription.fits({ group: typeof group === 'string' ? group : undefined, type: '', tags: [] })
  })
  const page = new Page(
    subscription.id,
    { total: fitting.length, isMore: found.total > found.alerts.length },
    limits,
  )
  const shown = new Map<unknown, unknown>()
  for (const alert of fitting) {
    if (!page.add([JSON.stringify(alertBodyOf(alert, ports))])) break
    shown.set(alert['alert_id'], alert['revision'])
  }
  const isShown = ({ event }: Notice) =>
    event.kind === 'alert' &&
    event.event !== 'alert.pending' &&
    Number(event.alert['revision']) <= Number(shown.get(event.alert['alert_id']) ?? 0)
  return { frame: page.close(), devices: fitting.length, isShown }
}

/** The open deployments, or the one that is asked for. A change that the snapshot shows already is no older than it. */
async function openDeployments({ subscription, scope, ports }: Call): Promise<Opening> {
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

function devicesSource({ subscription, scope, ports }: Call): Source<DeviceView> {
  return {
    ask: (devices) => ports.engine.views(devices.map(({ id }) => id)),
    items(_, view) {
      // The world moved while we waited: the device may have left the filter or the scope.
      const isSeen = isInScope(view.device.group, scope.groups) && subscription.fits(view.device)
      return isSeen ? [deviceBody(view, ports)] : undefined
    },
    isShown: isDeviceShown,
  }
}

function telemetrySource({ subscription: { selection }, ports }: Call): Source<Snapshot> {
  return {
    async ask(devices) {
      const snapshots = await Promise.all(devices.map(({ id }) => ports.engine.snapshot(id)))
      return snapshots.map((snapshot) => {
        if (snapshot === undefined || selection === undefined) return snapshot
        return { ...snapshot, data: select(snapshot.data, selection) ?? {} }
      })
    },
    items({ id }, { data, timestamp }) {
      const at = timestamp === undefined ? null : toIso(timestamp)
      return [{ device_id: id, timestamp: at, data }]
    },
    isShown: isReportShown,
  }
}

function shadowsSource({ ports }: Call): Source<Shadow> {
  return {
    ask: (devices) => Promise.all(devices.map(({ id }) => ports.engine.shadow(id))),
    items: ({ id }, shadow) => [toDocument(id, shadow)],
    isShown: ({ event }, shown) => event.kind === 'shadow' && event.change.version <= shown.version,
  }
}

/** Those that are not finished. */
function commandsSource({ ports }: Call): Source<readonly Command[]> {
  return {
    async ask(devices) {
      const all = await Promise.all(devices.map(({ id }) => ports.engine.commands(id)))
      return all.map((commands) => commands?.filter(({ status }) => isOpen(status)))
    },
    items: (device, commands) => commands.map((command) => commandBody(device.id, command, device)),
    isShown({ event }, shown) {
      if (event.kind !== 'command') return false
      const now = shown.find(({ id }) => id === event.command.id)
      return now !== undefined && !isFurther(event.command, now)
    },
  }
}

/** Statuses come in the order of their list. */
function isFurther(command: Command, than: Command): boolean {
  const steps = COMMAND_STATUSES.indexOf(command.status) - COMMAND_STATUSES.indexOf(than.status)
  return steps === 0 ? (command.progress ?? -1) > (than.progress ?? -1) : steps > 0
}

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
): Opening['isShown'] {
  return (notice) => {
    const { deviceId } = notice
    const state = deviceId && shown.get(deviceId)
    if (deviceId === undefined || state === undefined) return false
    const is = isShown(notice, state)
    // Events come in order per device: whatever follows a new one is new.
    if (!is) shown.delete(deviceId)
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

interface Whole {
  /** Items of all pages; undefined if nobody counted them. */
  readonly total: number | undefined
  readonly isMore: boolean
}

/** The items of one snapshot frame, up to a number of bytes. */
class Page {
  readonly #id: string
  readonly #of: Whole
  readonly #bytesMax: number
  readonly #items: string[] = []
  #bytes = 0
  isFull = false

  constructor(id: string, of: Whole, limits: SnapshotPorts['limits']) {
    this.#id = id
    this.#of = of
    this.#bytesMax = limits.snapshotBytesMax
  }

  /** All or none. */
  add(items: readonly string[]): boolean {
    for (const item of items) this.#bytes += Buffer.byteLength(item) + 1
    this.isFull = this.#bytes > this.#bytesMax
    if (!this.isFull) this.#items.push(...items)
    return !this.isFull
  }

  close(): string {
    const { total, isMore } = this.#of
    const head = `{"type":"snapshot","id":${JSON.stringify(this.#id)},"data":[${this.#items.join(',')}]`
    const count = total === undefined ? '' : `,"total":${total}`
    return `${head}${count},"truncated":${this.isFull || isMore}}`
  }
}
