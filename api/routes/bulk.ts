// POST /devices/bulk: many registrations in one call.

import { LIMITS } from '../../engine/limits.ts'
import type { AuditEntry } from '../../engine/ports/audit.ts'
import type { BulkResult, BulkRow } from '../../schemas/bulk.ts'
import { RegisterDeviceBody } from '../../schemas/device.ts'
import { parseDeviceId } from '../../schemas/ids.ts'
import { bulkRegisterDevices } from '../../schemas/operations/bulk.ts'
import { readRows } from '../bulk/read-rows.ts'
import { registerRows } from '../bulk/register-rows.ts'
import { answer, refused } from '../http/answer.ts'
import { knownActor } from '../http/audit.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { createValidation } from '../http/validation.ts'

/** Entries of the audit that are written together. */
const ENTRIES_AT_ONCE = 500

export function bulkRoutes(services: Services): readonly Route[] {
  const check = createValidation().check(RegisterDeviceBody, 'body')
  let underWay = 0
  return [
    route(bulkRegisterDevices, async ({ query, body, user, header, requestId, ip, repeatKey }) => {
      if (underWay >= LIMITS.bulksAtOnceMax)
        return refused('RATE_LIMIT_EXCEEDED', {
          message: `${underWay} bulk registrations are under way; try again`,
          retry_after_sec: LIMITS.retryAfterSec,
        })
      underWay++
      try {
        const read = await readRows(body, header('content-type') ?? '')
        if (read.kind === 'refused') return read
        const isDryRun = query.dry_run === true
        const results = await registerRows(read.rows, { services, check, by: user.id, isDryRun, repeatKey })
        await recordEach(services, results, {
          actor: knownActor(user),
          action: bulkRegisterDevices.operationId,
          outcome: 'success',
          requestId,
          ip,
        })
        const summary = summaryOf(results, isDryRun)
        const done = answer(200, { ...summary, results }, { 'cache-control': 'no-store' })
        return { ...done, noted: summary }
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
    valid: count('valid'),
    failed: count('failed'),
  }
}

/** Each device is found in the audit by its id, beside the entry of the call. */
async function recordEach(
  { engine }: Services,
  results: readonly BulkRow[],
  about: Omit<AuditEntry, 'deviceId' | 'target'>,
): Promise<void> {
  const entries = results
    .filter(({ status }) => status === 'created')
    .map(({ row, device_id: id }) => ({
      ...about,
      target: `devices/${id}`,
      deviceId: parseDeviceId(id ?? ''),
      detail: { row },
    }))
  for (let at = 0; at < entries.length; at += ENTRIES_AT_ONCE)
    await engine.record(entries.slice(at, at + ENTRIES_AT_ONCE))
}
