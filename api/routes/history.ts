// /devices/{id}/logs and /devices/{id}/events: log lines and timeline of a device, newest first.
import type { HistoryFilter, HistoryKind, HistoryRow } from '../../engine/ports/history.ts'
import { listDeviceEvents, listDeviceLogs } from '../../schemas/operations/history.ts'
import type { Caller } from '../auth/caller.ts'
import { timelineKinds } from '../auth/timeline-access.ts'
import { deviceNotFound, visibleDeviceId } from '../auth/visible-device.ts'
import { eventBody, logBody } from '../bodies/history-body.ts'
import { type Answer, answer } from '../http/answer.ts'
import { cursorPage } from '../http/feed-page.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { parseSpan } from '../http/span.ts'
import type { Refusal } from '../refusal.ts'

export function historyRoutes({ engine, clock }: Services): readonly Route[] {
  return [
    route(listDeviceLogs, ({ params, query, user, url }) => {
      const asked = { ...query, kinds: ['log'], labels: query.level?.split(',') } as const
      return page({ engine, clock, deviceId: params.device_id, user, url }, asked, logBody)
    }),
    route(listDeviceEvents, ({ params, query, user, url }) => {
      const only = query.kind?.split(',')
      const kinds = timelineKinds(user.role).filter((kind) => only?.includes(kind) ?? true)
      return page({ engine, clock, deviceId: params.device_id, user, url }, { ...query, kinds }, eventBody)
    }),
  ]
}

interface Call {
  readonly engine: Services['engine']
  readonly clock: Services['clock']
  readonly deviceId: string
  readonly user: Caller
  readonly url: string
}

interface HistoryRequest {
  readonly kinds: readonly HistoryKind[]
  readonly labels?: readonly string[] | undefined
  readonly limit?: number
  readonly cursor?: string
  readonly from?: string
  readonly to?: string
}

async function page(
  call: Call,
  asked: HistoryRequest,
  toBody: (row: HistoryRow) => object,
): Promise<Answer | Refusal> {
  const { engine, clock, user, url } = call
  const deviceId = visibleDeviceId(engine, call.deviceId, user)
  if (deviceId === undefined) return deviceNotFound()
  const range = parseSpan(asked, clock.now())
  if (range.kind === 'refused') return range
  const { kinds, labels } = asked
  const filter: HistoryFilter = { deviceId, kinds, labels, from: range.from, to: range.to }
  const found = await cursorPage(asked, url, async (wanted) =>
    kinds.length === 0 ? [] : engine.history({ ...filter, ...wanted }),
  )
  if (found.kind === 'refused') return found
  const body = { device_id: deviceId, data: found.rows.map(toBody), next_cursor: found.next }
  return answer(200, body, found.headers)
}
