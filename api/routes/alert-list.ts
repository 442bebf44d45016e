// The list of alerts, from memory and, if resolved ones are asked for, from the history.
//
// A device's record keeps its open alerts and the latest resolved ones, and is authoritative for them. The history has
// all resolved alerts, with a short delay. An alert that is in both counts once, as in the record.
import { sortAlerts } from '../../engine/domain/alert/alert-results.ts'
import type { AlertMatches, AlertsQuery } from '../../engine/ports/alerts.ts'
import type { Engine } from '../../engine/ports/engine.ts'
import { Fault } from '../../engine/ports/fault.ts'
import type { PastAlerts, PastAlertsQuery } from '../../engine/ports/history.ts'
import { type DeviceId, parseDeviceId } from '../../schemas/ids.ts'
import { selectFleet } from '../auth/fleet-selection.ts'
import { isInScope } from '../auth/scope.ts'
import { fromHistory } from './alert-lookup.ts'

/** At least so many that records keep are looked for in the history. Only then is the number of all exact at once. */
const KNOWN_MIN = 1_000

type AlertSources = Pick<Engine, 'alerts' | 'devices' | 'pastAlerts'>

export async function findAlerts(engine: AlertSources, query: AlertsQuery): Promise<AlertMatches> {
  const { states, within } = query
  if (!states.includes('resolved')) return engine.alerts.list(query)
  const open = states.filter((state) => state !== 'resolved')
  const [others, kept] = await Promise.all([
    open.length === 0 ? NOTHING : engine.alerts.list({ ...query, states: open }),
    engine.alerts.list({ ...query, states: ['resolved'], limit: Math.max(query.limit, KNOWN_MIN) }),
  ])
  const known = kept.alerts.map(({ alert_id: id }) => String(id))
  const past = await pastAlerts(engine, { ...query, deviceIds: visibleDevices(engine, query), known })
  const isKnown = new Set(known)
  // If the devices are too many to name, some may have left the groups that the caller may see.
  const isSeen = (id: unknown) => {
    const deviceId = parseDeviceId(id)
    return deviceId === undefined || within === undefined
      ? true
      : isInScope(engine.devices.summary(deviceId)?.group, within)
  }
  const older = past.alerts.filter(
    ({ alert_id: id, device_id: deviceId }) => !isKnown.has(String(id)) && isSeen(deviceId),
  )
  const unstored = known.length - past.known
  return {
    // Records keep some alerts for longer than the history does.
    total: others.total + Math.max(kept.total, past.total + unstored),
    alerts: sortAlerts([...others.alerts, ...kept.alerts, ...older.map((body) => fromHistory(body))], query),
  }
}

/** Undefined if the caller may see all devices, or too many to name. */
function visibleDevices(
  engine: AlertSources,
  { deviceId, within }: AlertsQuery,
): readonly DeviceId[] | undefined {
  if (within === undefined) return undefined
  const selection = selectFleet(engine, { device_id: deviceId }, within)
  return selection === undefined ? [] : selection.deviceIds
}

/** If the history cannot be read, or too much of it would be needed, the alerts kept in records are still listed. */
async function pastAlerts(engine: AlertSources, query: PastAlertsQuery): Promise<PastAlerts> {
  try {
    return await engine.pastAlerts(query)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { ...NOTHING, known: 0 }
  }
}

const NOTHING: AlertMatches = { total: 0, alerts: [] }
