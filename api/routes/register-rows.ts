// Registers the rows of a bulk registration as POST /devices does: through the log, many at a time. With upsert, a row for
// an existing device changes the device, as PATCH does.
//
// - Rows without a parent go first, so gateways come before their sub-devices.
// Q2. A row that is repeated with the same key finds the device it created, so an interrupted call can be repeated.
// - Once a row fails because of the service, the remaining rows are not tried.
// - Rows are checked in portions, so that ten thousand of them do not block other requests.
import { setImmediate } from 'node:timers/promises'
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import { LIMITS } from '../../engine/limits.ts'
import { Fault } from '../../engine/ports/fault.ts'
import type { BulkRow, REPORT_COLUMNS } from '../../schemas/bulk.ts'
import type { RegisterDeviceBody } from '../../schemas/device.ts'
import { eachAtOnce } from '../../schemas/each-at-once.ts'
import { parseDeviceId } from '../../schemas/ids.ts'
import type { FieldError } from '../../schemas/problem.ts'
import { REFUSALS } from '../../schemas/refusals.ts'
import type { Row } from '../bulk/read-rows.ts'
import { idFor, partKey, type RepeatKey } from '../http/repeats.ts'
import type { SignedCall } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import type { Check } from '../http/validation.ts'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'
import { refuseParent } from './device-checks.ts'
import { firstToken, toRegistration } from './registration.ts'
import { type PlannedEdit, toEdit } from './upsert-row.ts'

interface RegisterOptions {
  readonly services: Services
  /** Checks a body of POST /devices. */
  readonly check: Check
  readonly sign: SignedCall['sign']
  readonly isDryRun: boolean
  readonly isUpsert: boolean
  readonly repeatKey: RepeatKey | undefined
}

type PlannedRegistration = Extract<ReturnType<typeof toRegistration>, { kind: 'registration' }>
type Plan = PlannedRegistration | PlannedEdit

export async function registerRows(
  rows: readonly Row[],
  options: RegisterOptions,
): Promise<readonly BulkRow[]> {
  const results: BulkRow[] = []
  const planned: (readonly [index: number, Plan])[] = []
  const seen = new Map<string, number>()
  for (const [index, row] of rows.entries()) {
    if (index % API_LIMITS.rowsCheckedAtOnce === API_LIMITS.rowsCheckedAtOnce - 1) await setImmediate()
    const plan = planOf(row, options, seen)
    results[index] =
      plan.kind === 'refused'
        ? failed(row, plan)
        : { row: row.row, device_id: plan.deviceId, status: 'valid' }
    if (plan.kind !== 'refused') planned.push([index, plan])
  }
  if (options.isDryRun) {
    checkParents(planned, results, options)
    return results
  }
  let isDown = false
  const applyPlan = async ([index, plan]: (typeof planned)[number]) => {
    const row = index + 1
    try {
      results[index] = isDown ? failed({ row }, UNTRIED, plan) : await applyOne(row, plan, options)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      isDown = true
      results[index] = failed({ row }, UNKNOWN, plan)
    }
  }
  const isChild = ([, plan]: (typeof planned)[number]) =>
    plan.kind === 'registration' && plan.request.parentId !== undefined
  const atOnce = API_LIMITS.bulkRegistrationsAtOnceMax
  const parents = planned.filter((each) => !isChild(each))
  await eachAtOnce(parents, atOnce, applyPlan)
  await eachAtOnce(planned.filter(isChild), atOnce, applyPlan)
  return results
}

/** A parent may be a gateway in the same rows. */
function checkParents(
  planned: readonly (readonly [index: number, Plan])[],
  results: BulkRow[],
  options: RegisterOptions,
): void {
  const registrations = planned.flatMap(([index, plan]) =>
    plan.kind === 'registration' ? [[index, plan] as const] : [],
  )
  const gateways = registrations.filter(([, { request }]) => request.type === 'gateway')
  const ids = new Set<string | undefined>(gateways.map(([, { deviceId }]) => deviceId))
  for (const [index, plan] of registrations) {
    const unfit = ids.has(plan.request.parentId) ? undefined : refuseParentOf(plan, options)
    if (unfit !== undefined) results[index] = failed({ row: index + 1 }, unfit, plan)
  }
}

const UNTRIED = refused('DEPENDENCY_UNAVAILABLE', {
  message: 'not tried: the service could not; send it again',
})
const UNKNOWN = refused('DEPENDENCY_UNAVAILABLE', {
  message: 'nothing is known to have happened; send it again',
})

/** Returns what the row asks for, or the reason for its refusal. */
function planOf(
  row: Row,
  { services, check, isUpsert, repeatKey }: RegisterOptions,
  seen: Map<string, number>,
): Plan | Refusal {
  if (row.kind === 'unread') return row.refusal
  const body = withoutReport(row.body)
  // Only the first errors of a row are reported.
  const unfit = check(body, 0)
  if (unfit !== undefined) return unfit
  // Devices that were decommissioned when they were exported stay decommissioned.
  const isDecommissioned = 'status' in row.body && row.body.status === 'decommissioned'
  // A repeated row finds the device that it created (Q2).
  const ownKey = repeatKey && partKey(repeatKey, [row.row, row.body])
  const isOld = (device: DeviceRecord | undefined) =>
    device !== undefined && device.createdAt + LIMITS.idempotencyKeyMs <= services.clock.now()
  const ownId = ownKey && parseDeviceId(idFor(ownKey, 'dev_', services.ids))
  const first = ownId && services.engine.devices.get(ownId)
  // An id that the key produced longer ago than keys are remembered is of another device.
  const key = isOld(first) ? undefined : ownKey
  const generated = { device_id: idFor(key, 'dev_', services.ids) }
  // The body has just been validated.
  const wanted = { ...generated, ...(body as RegisterDeviceBody) }
  const id = parseDeviceId(wanted.device_id)
  const existing = id && services.engine.devices.get(id)
  const isRepeated = key !== undefined && existing?.registrationKey === key.id && !isOld(existing)
  const isEdit = isUpsert && existing !== undefined && !isRepeated
  if (isDecommissioned && !isEdit) return refused('DEVICE_DECOMMISSIONED')
  const plan = isEdit ? toEdit(existing, wanted, isDecommissioned) : toRegistration(services, wanted)
  if (plan.kind === 'refused') return plan
  const before = seen.get(plan.deviceId)
  if (before !== undefined)
    return refused('ALREADY_EXISTS', { message: `row ${before} has the same device_id` })
  seen.set(plan.deviceId, row.row)
  if (plan.kind === 'edit') return plan
  if (existing !== undefined && !isRepeated) return refused('ALREADY_EXISTS')
  return { ...plan, request: { ...plan.request, idempotencyKey: key?.id } }
}

/** Removes the fields of an export that a registration does not accept. */
function withoutReport(body: object): object {
  const { status: _, firmware_version: __, created_at: ___, updated_at: ____, ...rest } = body as Report
  return rest
}

type Report = Readonly<Partial<Record<(typeof REPORT_COLUMNS)[number], unknown>>>

async function applyOne(
  row: number,
  plan: Plan,
  { services, sign }: Pick<RegisterOptions, 'services' | 'sign'>,
): Promise<BulkRow> {
  const { deviceId: device_id } = plan
  const unfit = plan.kind === 'edit' ? undefined : refuseParentOf(plan, { services })
  if (unfit !== undefined) return failed({ row }, unfit, plan)
  if (plan.request === undefined) return { row, device_id, status: 'unchanged' }
  const before = services.engine.devices.get(device_id)?.revision
  // The audit gets an entry for each device, in addition to that of the call.
  const about = { target: `devices/${device_id}`, detail: { row } }
  const submitted = await services.engine.submit(device_id, plan.request, sign(about))
  if (submitted.kind === 'refused') return failed({ row }, submitted, plan)
  const { device } = submitted.view
  if (plan.kind === 'edit')
    return { row, device_id, status: device.revision === before ? 'unchanged' : 'updated' }
  return { row, device_id, status: 'created', ...(await firstToken(services, device)) }
}

function refuseParentOf(
  { deviceId, request }: PlannedRegistration,
  { services }: Pick<RegisterOptions, 'services'>,
): Refusal | undefined {
  return refuseParent(services.engine.devices, deviceId, request.parentId)
}

function failed({ row, ...rest }: { row: number; body?: object }, refusal: Refusal, plan?: Plan): BulkRow {
  const { code, detail } = refusal
  const { message = REFUSALS[code].title, errors } = detail
  const named = rest.body !== undefined && 'device_id' in rest.body ? rest.body.device_id : null
  return {
    row,
    device_id:
      plan?.deviceId ?? (typeof named === 'string' ? named.slice(0, LIMITS.auditTextCharsMax) : null),
    status: 'failed',
    error: {
      code,
      message: String(message),
      // `invalid` and the validation create errors of this type.
      ...(errors === undefined ? {} : { errors: errors as FieldError[] }),
    },
  }
}
