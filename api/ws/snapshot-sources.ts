// What a snapshot shows of each device, by channel, and which notices it already covers.
import { isOpen } from '../../engine/domain/command/moves.ts'
import type { Command } from '../../engine/domain/command/record.ts'
import type { HeartbeatTimeouts } from '../../engine/domain/device/heartbeat.ts'
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import { toDocument } from '../../engine/domain/shadow/messages.ts'
import type { Shadow } from '../../engine/domain/shadow/record.ts'
import type { DeviceView, Snapshot } from '../../engine/index.ts'
import { toIso } from '../../schemas/ids.ts'
import { COMMAND_STATUSES } from '../../schemas/vocabulary.ts'
import { isInScope } from '../auth/scope.ts'
import type { AlertBodySettings } from '../bodies/alert-body.ts'
import { commandBody } from '../bodies/command-body.ts'
import { deviceBody } from '../bodies/device-body.ts'
import type { Notice } from './notice.ts'
import { select } from './selection.ts'
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

export interface SnapshotCall {
  readonly subscription: Subscription
  readonly scope: Scope
  readonly ports: SnapshotPorts
}

/** How a channel shows a device in its snapshot. */
export interface Source<State> {
  read(devices: readonly DeviceRecord[]): Promise<readonly (State | undefined)[]>
  /** The items for the frame. Undefined if the device is left out after all. */
  items(device: DeviceRecord, state: State): readonly object[] | undefined
  /** Whether the snapshot already shows this notice. */
  isShown(notice: Notice, shown: State): boolean
}

export function devicesSource({ subscription, scope, ports }: SnapshotCall): Source<DeviceView> {
  return {
    read: (devices) => ports.engine.views(devices.map(({ id }) => id)),
    items(_, view) {
      // State may have changed during the wait: the device may no longer match the filter or the scope.
      const isSeen = isInScope(view.device.group, scope.groups) && subscription.fits(view.device)
      return isSeen ? [deviceBody(view, ports)] : undefined
    },
    isShown: isDeviceShown,
  }
}

export function telemetrySource({ subscription: { selection }, ports }: SnapshotCall): Source<Snapshot> {
  return {
    async read(devices) {
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

export function shadowsSource({ ports }: SnapshotCall): Source<Shadow> {
  return {
    read: (devices) => Promise.all(devices.map(({ id }) => ports.engine.shadow(id))),
    items: ({ id }, shadow) => [toDocument(id, shadow)],
    isShown: ({ event }, shown) => event.kind === 'shadow' && event.change.version <= shown.version,
  }
}

/** The unfinished commands. */
export function commandsSource({ ports }: SnapshotCall): Source<readonly Command[]> {
  return {
    async read(devices) {
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

/** Relies on the order of the list of statuses. */
function isFurther(command: Command, than: Command): boolean {
  const steps = COMMAND_STATUSES.indexOf(command.status) - COMMAND_STATUSES.indexOf(than.status)
  return steps === 0 ? (command.progress ?? -1) > (than.progress ?? -1) : steps > 0
}

function isDeviceShown({ event }: Notice, shown: DeviceView): boolean {
  if (event.kind !== 'device') return false
  const { view } = event
  const newer = view.device.revision - shown.device.revision
  if (newer !== 0) return newer < 0
  const since = (view.connectedSince ?? 0) - (shown.connectedSince ?? 0)
  return since !== 0 ? since < 0 : view.connected === shown.connected
}

/** Times are no evidence: a device may report earlier measurements, and twice in the same millisecond. */
function isReportShown({ event }: Notice, shown: Snapshot): boolean {
  return event.kind === 'telemetry' && event.seq <= shown.seq
}
