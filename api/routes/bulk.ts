// POST /devices/bulk: many registrations in one call.

import type { BulkResult, BulkRow } from '../../schemas/bulk.ts'
import { RegisterDeviceBody } from '../../schemas/device.ts'
import { bulkRegisterDevices } from '../../schemas/operations/bulk.ts'
import { readRows } from '../bulk/read-rows.ts'
import { answer } from '../http/answer.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { checkOf } from '../http/validation.ts'
import { API_LIMITS } from '../limits.ts'
import { refused } from '../refusal.ts'
import { registerRows } from './register-rows.ts'

export function bulkRoutes(services: Services): readonly Route[] {
  const check = checkOf(RegisterDeviceBody, 'body')
  let underWay = 0
  return [
    route(bulkRegisterDevices, async ({ query, body, user, header, repeatKey, sign }) => {
      if (underWay >= API_LIMITS.bulksAtOnceMax)
        return refused('RATE_LIMIT_EXCEEDED', {
          message: `${underWay} bulk registrations are under way; try again`,
          retry_after_sec: API_LIMITS.retryAfterSec,
        })
      underWay++
      try {
        const read = await readRows(body, header('content-type') ?? '')
        if (read.kind === 'refused') return read
        const { dry_run: isDryRun = false, upsert: isUpsert = false } = query
        const rowsPerWork = isDryRun ? API_LIMITS.rowsCheckedPerWork : API_LIMITS.rowsPerWork
        const tooMuch = services.work.charge(user.id, read.rows.length / rowsPerWork)
        if (tooMuch !== undefined) return tooMuch
        const about = { services, check, sign, isDryRun, isUpsert, repeatKey }
        const results = await registerRows(read.rows, about)
        const summary = summaryOf(results, isDryRun)
        const done = answer(200, { ...summary, results }, { 'cache-control': 'no-store' })
        return { ...done, auditDetail: summary }
      } finally {
        underWay--
      }
    }),
  ]
}

function summaryOf(results: readonly BulkRow[], isDryRun: boolean): Omit<BulkResult, 'results'> {
  const count = (status: string) => results.filter((row) => row.status === status).length
  return {
    dry_run: isDryRun,
    total: results.length,
    created: count('created'),
    updated: count('updated'),
    unchanged: count('unchanged'),
    valid: count('valid'),
    failed: count('failed'),
  }
}
