// The leader's services, created anew for each of its terms: whatever they save carries the claims of that term (R2).
import type { DeviceId, Millis } from '../../schemas/ids.ts'
import type { AuditEntry } from '../domain/audit/entry.ts'
import type { DeviceRequest } from '../domain/device/events.ts'
import type { Clock } from '../ports/clock.ts'
import type { Authorship, Ports, RequestOutcome } from '../ports/engine.ts'
import type { Outbound } from '../ports/outbound.ts'
import type { Schedule } from '../ports/schedule.ts'
import type { Claim } from '../ports/store.ts'
import type { AlertBook } from './alerts/alert-book.ts'
import { AlertDesk } from './alerts/alert-desk.ts'
import { CHANNELS } from './alerts/channel-book.ts'
import { failedDeployments } from './alerts/failed-deployments.ts'
import { FleetAlerts } from './alerts/fleet-alerts.ts'
import { Notifications } from './alerts/notifications.ts'
import { rulesUsing } from './alerts/rules-using.ts'
import { Broadcasts } from './broadcasts/broadcasts.ts'
import { DeploymentDesk } from './deployments/deployment-desk.ts'
import { gateValues } from './deployments/gate-values.ts'
import { CensusTaker } from './fleet/census-taker.ts'
import { DeviceCopier } from './fleet/device-copier.ts'
import type { Metrics } from './metrics.ts'
import type { LeaderServices } from './nodes/leader-services.ts'
import type { Nodes } from './nodes/nodes.ts'
import type { RemoteFeed } from './nodes/remote-feed.ts'
import type { composeOta } from './ota/compose-ota.ts'
import { PurgeDesk } from './purges/purge-desk.ts'
import type { Settler } from './rows/settler.ts'
import type { Signal } from './signals.ts'

interface LeaderServicePorts extends Pick<Ports, 'store' | 'telemetry' | 'broker' | 'clock'> {
  /** The clock that stamps messages. It keeps going forward when the system clock is set back. */
  readonly logNow: () => Millis
  readonly outbound: Outbound
  readonly schedule: Schedule
  readonly dice: () => number
  readonly ota: Pick<ReturnType<typeof composeOta>, 'library' | 'desk'>
  readonly downloadsMax: number
  readonly retentionMs: number
  readonly alertBook: AlertBook
  readonly nodes: Pick<Nodes, 'ask' | 'flush'>
  readonly settler: Settler
  readonly metrics: Metrics
  readonly feed: Pick<RemoteFeed, 'publish'>
  readonly submit: (deviceId: DeviceId, request: DeviceRequest, signed: Authorship) => Promise<RequestOutcome>
  readonly record: (entries: readonly AuditEntry[]) => Promise<void>
  /** Called when history rows have been saved and wait to be inserted. */
  readonly rowsStored: () => void
  readonly signal: (signal: Signal) => void
  /** A service failed. It will be tried again. */
  readonly failed: (error: unknown) => void
}

export function composeLeaderServices(claims: readonly Claim[], ports: LeaderServicePorts): LeaderServices {
  const { store, telemetry, broker, clock, outbound, schedule, dice } = ports
  const { ota, alertBook, nodes, settler, metrics, feed, submit, record, signal, failed } = ports
  // What devices do is stamped by this clock, and with another one, time limits would be over before they begin. Nor may a
  // deadline wait until a clock that was set back has caught up.
  const logClock: Clock = { now: ports.logNow, ticks: () => clock.ticks() }
  const deployments = new DeploymentDesk({
    ...{ store, claims, schedule, submit, record, firmwares: ota.library, clock: logClock },
    tallies: (deploymentIds) => nodes.ask({ kind: 'jobs', deploymentIds }),
    firmwareOf: (deviceIds) => nodes.ask({ kind: 'firmware', deviceIds }),
    gateValues: (question) =>
      gateValues(question, {
        series: (query) => telemetry.series(query),
        lateHours: (deviceIds, span) => settler.lateHours(deviceIds, span),
      }),
    roundTook: (seconds) => metrics.ota.roundTook(seconds),
    downloadsMax: ports.downloadsMax,
    retentionMs: ports.retentionMs,
    failed: (error) => signal({ kind: 'deployments_stalled', error }),
  })
  const deviceCopies = new DeviceCopier({ devices: store.devices, store, telemetry, clock, schedule, failed })
  return {
    alerts: new AlertDesk({
      ...{ store, claims, book: alertBook, clock: logClock },
      channels: async () => (await store.documents.list(CHANNELS)).map(({ id }) => id),
    }),
    broadcasts: new Broadcasts({
      store,
      claims,
      broker,
      clock: logClock,
      schedule,
      submit,
      signal,
      commands: (deviceId) => nodes.ask({ kind: 'commands', deviceId }),
      children: (broadcastId) => nodes.ask({ kind: 'children', broadcastId }),
    }),
    firmware: ota.desk(claims),
    deployments,
    fleetAlerts: new FleetAlerts({
      ...{ store, claims, book: alertBook, clock: logClock, schedule },
      counts: (sums) => nodes.ask({ kind: 'fleet_counts', sums }),
      failures: failedDeployments({
        list: () => deployments.all(),
        deviceIdsOf: (id) => deployments.deviceIdsOf(id),
        devices: store.devices,
      }),
      publish: (events) => {
        metrics.alerts.moved(events)
        feed.publish(events)
      },
      stored: ports.rowsStored,
      failed,
    }),
    census: new CensusTaker({ devices: store.devices, telemetry, clock, schedule, failed }),
    deviceCopies,
    purges: new PurgeDesk({
      ...{ store, claims, telemetry, broker, clock: logClock, schedule, submit, failed },
      flush: () => nodes.flush(settler.horizon()),
      gone: (id) => deviceCopies.forget(id),
    }),
    notifications: new Notifications({
      store,
      claims,
      outbound,
      clock: logClock,
      systemNow: () => clock.now(),
      schedule,
      dice,
      rulesUsing: (id) => rulesUsing(store.documents, id),
      signal,
      publish: (events) => feed.publish(events),
    }),
  }
}
