// POST /devices/bulk-edit: one change to many devices. Each is changed through the log, as by PATCH /devices/{id}.
//
// - A device that already has the change is left as it is, so an interrupted call can be repeated.
// - Once a device fails because of the service, the remaining devices are not tried.
import { type DeviceEdit, decideEdit } from '../../engine/domain/device/edit.ts'
import { LIMITS } from '../../engine/limits.ts'
import { Fault } from '../../engine/ports/fault.ts'
import type { BulkEditBody, BulkEditResult, BulkEditRow } from '../../schemas/bulk-edit.ts'
import { eachAtOnce } from '../../schemas/each-at-once.ts'
import { bulkEditDevices } from '../../schemas/operations/bulk.ts'
import { REFUSALS } from '../../schemas/refusals.ts'
import type { Caller } from '../auth/caller.ts'
import { deviceNotFound, visibleDeviceId } from '../auth/visible-device.ts'
import { answer } from '../http/answer.ts'
import { type Route, route, type SignedCall } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { API_LIMITS } from '../limits.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'
import { unique } from './device-checks.ts'
import { toFilter } from './device-filter.ts'

export function bulkEditRoute(services: Services): Route {
  let underWay = 0
  return route(bulkEditDevices, async ({ query, body, user, sign }) => {
    const target = toTarget(services, body, user)
    if (target.kind === 'refused') return target
    const { patch } = body
    const isEmpty = [patch.group, patch.tags_add, patch.tags_remove, patch.status].every(
      (each) => each === undefined,
    )
    if (isEmpty)
      return invalid('/patch', { code: 'REQUIRED', message: 'names no change: group, tags or status' })
    if (underWay >= API_LIMITS.bulkEditsAtOnceMax)
      return refused('RATE_LIMIT_EXCEEDED', {
        message: `${underWay} bulk edits are under way; try again`,
        retry_after_sec: API_LIMITS.retryAfterSec,
      })
    const tooMuch = services.work.charge(user.id, target.ids.length / API_LIMITS.devicesPerWork)
    if (tooMuch !== undefined) return tooMuch
    underWay++
    try {
      const isDryRun = query.dry_run === true
      const counts = countDevices(services, target.ids, user)
      const results = await editAll(target.ids, { services, user, sign, edit: toEdit(patch), isDryRun })
      const summary = { ...summaryOf(results), dry_run: isDryRun }
      return { ...answer(200, { ...summary, ...counts, results }), auditDetail: summary }
    } finally {
      underWay--
    }
  })
}

function toTarget(
  services: Services,
  { device_ids: named, filter: given }: BulkEditBody,
  user: Caller,
): { readonly kind: 'target'; readonly ids: readonly string[] } | Refusal {
  if (named !== undefined && given !== undefined)
    return invalid('/filter', { code: 'NOT_ALLOWED', message: 'cannot be given together with device_ids' })
  if (named !== undefined) return { kind: 'target', ids: [...new Set(named)].sort() }
  if (given === undefined)
    return invalid('/device_ids', { code: 'REQUIRED', message: 'is missing: give device_ids or a filter' })
  // An empty filter is refused, so that nobody changes the whole fleet because a field was left out.
  if (Object.keys(given).length === 0)
    return invalid('/filter', { code: 'REQUIRED', message: 'must have at least one field' })
  const wanted = toFilter(services, given, user)
  if (wanted.kind === 'refused') return wanted
  const { devices } = services.engine
  const { total } = devices.list(wanted.filter, { offset: 0, limit: 1 })
  if (total === 0) return refused('EMPTY_TARGET', { message: 'no device matches the filter' })
  if (total > LIMITS.bulkRowsMax)
    return invalid('/filter', {
      code: 'OUT_OF_RANGE',
      message: `matches ${total} devices; at most ${LIMITS.bulkRowsMax} are changed at once`,
    })
  return { kind: 'target', ids: devices.matching(wanted.filter) }
}

function toEdit({ group, tags_add, tags_remove, status, status_reason }: BulkEditBody['patch']): DeviceEdit {
  const tags = { tagsAdd: unique(tags_add), tagsRemove: unique(tags_remove) }
  return { kind: 'edit', replace: false, group, ...tags, status, statusReason: status_reason }
}

interface EditCall {
  readonly services: Services
  readonly user: Caller
  readonly sign: SignedCall['sign']
  readonly edit: DeviceEdit
  readonly isDryRun: boolean
}

async function editAll(ids: readonly string[], call: EditCall): Promise<readonly BulkEditRow[]> {
  const results: BulkEditRow[] = []
  let isDown = false
  await eachAtOnce(ids.entries(), API_LIMITS.bulkEditedAtOnceMax, async ([index, id]) => {
    try {
      results[index] = isDown ? failed(id, UNTRIED) : await editOne(id, call)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      isDown = true
      results[index] = failed(id, UNKNOWN)
    }
  })
  return results
}

async function editOne(
  text: string,
  { services, user, sign, edit, isDryRun }: EditCall,
): Promise<BulkEditRow> {
  const { engine } = services
  const id = visibleDeviceId(engine, text, user)
  const before = id && engine.devices.get(id)
  if (id === undefined || before === undefined) return failed(text, deviceNotFound())
  const verdict = decideEdit(before, edit)
  if (verdict.kind === 'refused') return failed(id, verdict)
  const status = verdict.kind === 'same' ? 'unchanged' : 'changed'
  if (isDryRun) return { device_id: id, status }
  // The audit gets an entry for each device, in addition to that of the call.
  const submitted = await engine.submit(id, edit, sign({ target: `devices/${id}` }))
  if (submitted.kind === 'refused') return failed(id, submitted)
  const isSame = submitted.view.device.revision === before.revision
  return { device_id: id, status: isSame ? 'unchanged' : 'changed' }
}

const UNTRIED = refused('DEPENDENCY_UNAVAILABLE', {
  message: 'not tried: the service could not; send it again',
})
const UNKNOWN = refused('DEPENDENCY_UNAVAILABLE', {
  message: 'nothing is known to have happened; send it again',
})

function failed(deviceId: string, { code, detail }: Pick<Refusal, 'code' | 'detail'>): BulkEditRow {
  const { message = REFUSALS[code].title } = detail
  return { device_id: deviceId, status: 'failed', error: { code, message: String(message) } }
}

function summaryOf(
  results: readonly BulkEditRow[],
): Pick<BulkEditResult, 'total' | 'changed' | 'unchanged' | 'failed'> {
  const count = (status: BulkEditRow['status']) => results.filter((row) => row.status === status).length
  return {
    total: results.length,
    changed: count('changed'),
    unchanged: count('unchanged'),
    failed: count('failed'),
  }
}

function countDevices(
  { engine }: Services,
  ids: readonly string[],
  user: Caller,
): Pick<BulkEditResult, 'by_status' | 'by_type'> {
  const statuses = new Map<string, number>()
  const types = new Map<string, number>()
  for (const text of ids) {
    const id = visibleDeviceId(engine, text, user)
    const device = id && engine.devices.summary(id)
    if (device === undefined) continue
    statuses.set(device.status, (statuses.get(device.status) ?? 0) + 1)
    types.set(device.type, (types.get(device.type) ?? 0) + 1)
  }
  return { by_status: Object.fromEntries(statuses), by_type: Object.fromEntries(types) }
}
