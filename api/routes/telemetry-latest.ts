// The latest values of a few metrics for many devices, as columns.
import { fleetJudge } from '../../engine/domain/fleet/selection.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { type DeviceId, parseDeviceId, toIso } from '../../schemas/ids.ts'
import type { Json } from '../../schemas/json.ts'
import { getLatestOfMany } from '../../schemas/operations/fleet.ts'
import { scopeOf } from '../auth/scope.ts'
import { jsonAnswer } from '../http/answer.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { API_LIMITS } from '../limits.ts'
import { invalid } from '../refusal.ts'

export function latestOfManyRoute({ engine, clock, work }: Services): Route {
  return route(getLatestOfMany, async ({ body, user }) => {
    const { device_ids: named, filter } = body
    if ((named === undefined) === (filter === undefined))
      return invalid('/device_ids', {
        code: 'NOT_ALLOWED',
        message: 'give either device_ids or a filter',
        in: 'body',
      })
    const metrics = [...new Set(body.metrics)]
    const fits = fleetJudge({ ...filter, within: scopeOf(user) })
    const isSeen = (id: DeviceId) => {
      const device = engine.devices.summary(id)
      return device !== undefined && fits(device)
    }
    const ids = named === undefined ? undefined : [...new Set(named)].flatMap((id) => parseDeviceId(id) ?? [])
    const seen = ids?.filter(isSeen)
    const count =
      seen?.length ?? engine.devices.list({ within: scopeOf(user), group: filter?.group }, ONE).total
    if (count > BODY_LIMITS.fleetDevicesMax)
      return invalid('/filter', {
        code: 'OUT_OF_RANGE',
        message: `matches ${count} devices; at most ${BODY_LIMITS.fleetDevicesMax} are answered: name a group`,
        in: 'body',
      })
    const tooMuch = work.charge(user.id, (count * metrics.length) / API_LIMITS.valuesPerWork)
    if (tooMuch !== undefined) return tooMuch
    const parts =
      seen?.length === 0 ? [] : await engine.fleet.latest({ deviceIds: seen, metrics, heardAfter: 0 })
    const deviceIds: DeviceId[] = []
    const values: Json[][] = metrics.map(() => [])
    const times: (number | null)[][] = metrics.map(() => [])
    for (const { id, values: columns, at } of parts)
      id.forEach((deviceId, i) => {
        if (seen === undefined && !isSeen(deviceId)) return
        deviceIds.push(deviceId)
        metrics.forEach((_, m) => {
          values[m]?.push(columns[m]?.[i] ?? null)
          times[m]?.push(at[m]?.[i] || null)
        })
      })
    const found = new Set<string>(deviceIds)
    const keyed = <T>(columns: readonly T[]) =>
      Object.fromEntries(metrics.map((name, m) => [name, columns[m]]))
    const answered = {
      at: toIso(clock.now()),
      device_id: deviceIds,
      values: keyed(values),
      timestamps_ms: keyed(times),
      missing: (named ?? []).filter((id) => !found.has(id)),
    }
    return jsonAnswer(JSON.stringify(answered))
  })
}

const ONE = { offset: 0, limit: 1 }
