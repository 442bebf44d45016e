// /audit: who did what, newest first.
import { listAudit } from '../../schemas/operations/audit.ts'
import { feedAnswer } from '../http/feed-page.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { parseSpan } from '../http/span.ts'

export function auditRoutes({ engine, clock }: Services): readonly Route[] {
  return [
    route(listAudit, async ({ query, url }) => {
      const range = parseSpan(query, clock.now())
      if (range.kind === 'refused') return range
      const { actor, action, target, device_id: deviceId, outcome, ip } = query
      const filter = { actor, action, target, deviceId, outcome, ip, from: range.from, to: range.to }
      return feedAnswer(query, url, {
        read: (wanted) => engine.audit({ ...filter, ...wanted }),
        count: () => engine.countAudit(filter),
        toBody: ({ body }) => body,
      })
    }),
  ]
}
