// /telemetry/repair: restores rows that ClickHouse has lost from the log.
import type { Repair } from '../../engine/ports/repair.ts'
import { toIso } from '../../schemas/ids.ts'
import { getRepair, startRepair } from '../../schemas/operations/repair.ts'
import type { RepairBody } from '../../schemas/repair.ts'
import { isoOrNull } from '../bodies/iso-or-null.ts'
import { answer } from '../http/answer.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { parseSpan } from '../http/span.ts'
import { refused } from '../refusal.ts'

export function repairRoutes({ repairs, clock }: Services): readonly Route[] {
  return [
    route(startRepair, async ({ body }) => {
      const span = parseSpan(body ?? {}, clock.now(), 'body')
      if (span.kind === 'refused') return span
      return answer(202, toBody(await repairs.start(span)), { location: startRepair.path })
    }),
    route(getRepair, () => {
      const repair = repairs.latest()
      if (repair === undefined) return refused('NOT_FOUND', { message: 'nothing was repaired yet' })
      return answer(200, toBody(repair), { 'cache-control': 'no-store' })
    }),
  ]
}

function toBody(repair: Repair): RepairBody {
  const { id, status, from, logFrom, messages, rows, progress, rollups, detail = null } = repair
  return {
    id,
    status,
    from: from === 0 ? null : toIso(from),
    to: toIso(repair.to),
    started_at: toIso(repair.startedAt),
    updated_at: toIso(repair.updatedAt),
    log_from: isoOrNull(logFrom),
    messages,
    rows,
    progress,
    rollups_from: isoOrNull(rollups?.from),
    rollups_to: isoOrNull(rollups?.to),
    detail,
  }
}
