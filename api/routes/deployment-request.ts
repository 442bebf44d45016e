// Parses a request for a deployment: fills in all defaults, finds its firmware, and checks its target.
import { checkTarget } from '../../engine/domain/alert/target.ts'
import type { DeploymentSpec } from '../../engine/domain/ota/deployment.ts'
import { isZone } from '../../engine/domain/telemetry/zone.ts'
import type { DeploymentRequest, Members } from '../../engine/ports/deployments.ts'
import type { FirmwareRecord } from '../../engine/ports/ota.ts'
import type { DeviceFilter } from '../../engine/ports/store.ts'
import type { DeploymentRequestBody } from '../../schemas/deployment.ts'
import { DeploymentId, type DeviceId, FirmwareId, type Millis, parseDeviceId } from '../../schemas/ids.ts'
import { INSTANT_EXPECTED, parseInstant } from '../../schemas/instant-text.ts'
import { DEVICE_STATUSES, RETRY_CAUSES } from '../../schemas/vocabulary.ts'
import type { Caller } from '../auth/caller.ts'
import { isInScope, scopeOf } from '../auth/scope.ts'
import { deviceNotFound } from '../auth/visible-device.ts'
import { createFor, type RepeatKey } from '../http/repeats.ts'
import type { Services } from '../http/services.ts'
import { type Refusal, refused } from '../refusal.ts'
import { toPreconditions, toStaging } from './deployment-stages.ts'

const DEVICES_MAX = 10_000
const BACKOFF_SEC = [60, 300, 900]
const RETRY_ON = RETRY_CAUSES.slice(0, 5)

export type RequestPart<Name extends string, Value> =
  | ({ readonly kind: 'found' } & { readonly [Key in Name]: Value })
  | Refusal

/** Finds the firmware by its id, or by version and type. All that are given must fit. */
export function findFirmware(
  { engine }: Pick<Services, 'engine'>,
  { firmware_id: id, firmware_version: version, device_type: type }: DeploymentRequestBody,
): RequestPart<'record', FirmwareRecord> {
  if (id) {
    const record = engine.firmware.get(FirmwareId(id))
    if (record === undefined) return invalid('/firmware_id', 'there is no such firmware')
    if (version && version !== record.version)
      return invalid('/firmware_version', `is not that of ${id}, which is ${record.version}`)
    if (type && type !== record.deviceType)
      return invalid('/device_type', `is not that of ${id}, which is for ${record.deviceType}`)
    return { kind: 'found', record }
  }
  if (!version) return invalid('/firmware_version', 'name a version or a firmware_id')
  const matching = [...engine.firmware.all()].filter(
    (record) => record.version === version && (!type || record.deviceType === type),
  )
  const [record] = matching
  if (record === undefined) return invalid('/firmware_version', 'there is no such firmware')
  if (matching.length === 1) return { kind: 'found', record }
  const types = matching.map(({ deviceType }) => deviceType).sort()
  const message = `version ${version} is there for ${types.join(', ')}: name one as device_type`
  return refused('AMBIGUOUS_FIRMWARE', { message, device_types: types })
}

export function toSpec(body: DeploymentRequestBody, now: Millis): RequestPart<'spec', DeploymentSpec> {
  const { strategy = 'rolling', abort, timeouts, retry, ramp, windows = [] } = body
  const zone = windows.findIndex(({ tz = 'UTC' }) => !isZone(tz))
  if (zone >= 0) return invalid(`/windows/${zone}/tz`, 'is no time zone')
  const confirmSec = timeouts?.confirm_sec ?? 300
  const stableSec = body.stable_sec ?? Math.min(10, confirmSec)
  if (stableSec > confirmSec) return invalid('/stable_sec', 'must not be above timeouts.confirm_sec')
  const staging = toStaging(body)
  if (staging.kind === 'refused') return staging
  const startAt = body.start_at ? parseInstant(body.start_at, now) : undefined
  // Without this, an unreadable time would start the deployment at once.
  if (body.start_at && startAt === undefined) return invalid('/start_at', `must be ${INSTANT_EXPECTED}`)
  const asked = toPreconditions(body.preconditions)
  if (asked.kind === 'refused') return asked
  const spec: DeploymentSpec = {
    name: body.name ?? undefined,
    target: { type: body.target.type, value: body.target.value ?? null },
    strategy,
    maxConcurrent: staging.maxConcurrent,
    ratePerMinute: body.rate_per_minute ?? undefined,
    ramp: ramp ? { start: ramp.start ?? 1, factor: ramp.factor ?? 2 } : undefined,
    rollbackOnFailure: body.rollback_on_failure ?? true,
    rollbackScope: body.rollback_scope ?? 'failed',
    canary: staging.canary,
    stages: staging.stages,
    abort: {
      minFinished: abort?.min_finished ?? 5,
      failurePercent: abort?.failure_percent ?? 20,
      failureCount: abort?.failure_count ?? undefined,
    },
    timeouts: {
      downloadSec: timeouts?.download_sec ?? 1_800,
      installSec: timeouts?.install_sec ?? 900,
      rebootSec: timeouts?.reboot_sec ?? 600,
      confirmSec,
    },
    retry: {
      max: retry?.max ?? 2,
      backoffSec: retry?.backoff_sec ?? BACKOFF_SEC,
      on: retry?.on ?? RETRY_ON,
    },
    proof: body.proof ?? 'reconnect',
    stableSec,
    offlineTtlSec: body.offline_ttl_sec ?? 604_800,
    startAt,
    windows: windows.map(({ days = [], start, duration_min: durationMin, tz = 'UTC' }) => ({
      ...{ days, start, durationMin, tz },
    })),
    preconditions: asked.preconditions,
    force: body.force ?? false,
    supersede: body.supersede ?? false,
  }
  return { kind: 'found', spec }
}

/** The devices of the target. Devices outside the caller's groups look as if they did not exist. */
export function toMembers(
  { engine }: Pick<Services, 'engine'>,
  { type, value }: DeploymentRequestBody['target'],
  user: Caller,
): RequestPart<'members', Members> {
  const within = scopeOf(user)
  const text = typeof value === 'string' && value !== '' ? value : undefined
  const matching = (filter: DeviceFilter) =>
    ({ kind: 'found', members: { kind: 'matching', filter: { ...filter, within } } }) as const
  switch (type) {
    case 'all':
    case 'fleet':
      return matching({})
    case 'device':
      return text === undefined
        ? invalid('/target/value', 'must be the id of a device')
        : named(engine, [text], within)
    case 'devices':
      return named(engine, value, within)
    case 'group':
      if (text === undefined) return invalid('/target/value', 'must name a group')
      return isInScope(text, within)
        ? matching({ group: text })
        : refused('NOT_FOUND', { message: 'no such group' })
    case 'tag':
      return text === undefined ? invalid('/target/value', 'must be a tag') : matching({ tags: [text] })
    case 'type':
      return text === undefined ? invalid('/target/value', 'must be a type') : matching({ type: text })
    case 'query': {
      const errors = checkTarget({ type, value })
      if (errors.length === 0) return matching(toQuery(Object(value)))
      return refused('VALIDATION_FAILED', {
        message: 'the target has filters that no device can be looked for by',
        errors: errors.map((error) => ({ ...error, in: 'body' })),
      })
    }
  }
}

function named(
  engine: Services['engine'],
  value: unknown,
  within: readonly string[] | undefined,
): RequestPart<'members', Members> {
  if (!Array.isArray(value) || value.length === 0 || value.length > DEVICES_MAX)
    return invalid('/target/value', `must be 1 to ${DEVICES_MAX} device ids`)
  if (value.some((each) => typeof each !== 'string')) return invalid('/target/value', 'must be device ids')
  const deviceIds: DeviceId[] = []
  for (const each of value) {
    const id = parseDeviceId(each)
    const summary = id && engine.devices.summary(id)
    if (id === undefined || summary === undefined || !isInScope(summary.group, within))
      return deviceNotFound()
    deviceIds.push(id)
  }
  return { kind: 'found', members: { kind: 'named', deviceIds } }
}

/** The filters of a target that has been checked. */
function toQuery(query: object): DeviceFilter {
  const fields: Readonly<Record<string, unknown>> = { ...query }
  const text = (name: string) => {
    const value = fields[name]
    return typeof value === 'string' ? value : undefined
  }
  const { group_exact: groupExact, tag, parent_id: parentId } = fields
  const tags = tag === undefined ? [] : [tag].flat()
  return {
    status: DEVICE_STATUSES.find((each) => each === fields['status']),
    type: text('type'),
    group: text('group'),
    groupExact: groupExact === true,
    tags: tags.length === 0 ? undefined : tags.filter((each) => typeof each === 'string'),
    parentId: parseDeviceId(parentId),
    firmwareVersion: text('firmware_version'),
    q: text('q'),
  }
}

/** The deployment of a request that may be a repetition. */
export function createDeploymentFor(
  { engine, ids, clock }: Services,
  request: Omit<DeploymentRequest, 'id'>,
  repeatKey: RepeatKey | undefined,
) {
  return createFor(
    repeatKey,
    { prefix: 'dep_', ids, clock },
    {
      create: (id) => engine.deployments.create({ ...request, id: DeploymentId(id) }),
      createdAt: (made) => (made.kind === 'done' ? made.state.deployment.createdAt : undefined),
    },
  )
}

function invalid(path: string, message: string): Refusal {
  return refused('VALIDATION_FAILED', {
    message: `${path} ${message}`,
    errors: [{ path, in: 'body', code: 'NOT_ALLOWED', message }],
  })
}
