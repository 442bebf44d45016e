// The device actor: one pure function from (device, event, now) to the next device and the effects.
//
// D1. The same reference back means that there is nothing to save (R7).
//
// A refusal is an effect and leaves the device as it was. A decommissioned device never changes again.
import { Millis } from '../../../schemas/ids.ts'
import type { RefusalCode } from '../../../schemas/refusals.ts'
import type { DeviceStatus } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import { NO_ALERTS } from '../alert/alerts-part.ts'
import { NO_COMMANDS } from '../command/record.ts'
import type { DdiAct } from '../ota/ddi.ts'
import { NO_FIRMWARE } from '../ota/firmware-part.ts'
import { type Author, NEW_SHADOW } from '../shadow/record.ts'
import type { NamedFault } from '../telemetry/diagnostics.ts'
import { unreachable } from '../unreachable.ts'
import { actOnAlert } from './alert-events.ts'
import {
  abandon,
  applyAck,
  applyDelivery,
  expire,
  noteUnreadableAck,
  requestCancel,
  requestCommand,
} from './command-events.ts'
import { applyDdiAct, withAttributes } from './ddi-events.ts'
import { type DeviceEdit, decideEdit } from './edit.ts'
import type { DescribedDevice, DeviceEvent, DeviceRequest, Effect, Outcome } from './events.ts'
import { withFaults, withoutFaults } from './faults.ts'
import {
  abandonJobs,
  applyFaults,
  applyOtaEvent,
  applyOtaRequest,
  proveJobs,
  withReportedImage,
} from './ota-events.ts'
import type { Device } from './record.ts'
import { applyDesired, applyReported, sendShadow } from './shadow-events.ts'
import { type Cause, isFinal, MOVES } from './status.ts'

export function transition(device: Device, event: DeviceEvent, now: Millis): Outcome {
  if (event.kind === 'requested') return applyRequest(device, event.request, { by: event.by, now })
  if (isFinal(device.status)) return unchanged(device)
  switch (event.kind) {
    case 'heard':
      return move(device, { cause: 'heartbeat', now, seenAt: event.seenAt })
    case 'silent':
      return move(device, { cause: 'silence', now, seenAt: event.seenAt, reason: 'no heartbeat' })
    case 'left':
      return move(device, { cause: 'silence', now, seenAt: event.seenAt, reason: event.reason })
    case 'diagnosed':
      return diagnose(device, event.faults, now)
    case 'recovered':
      return move(device, { cause: 'recovery', now })
    case 'described':
      return describe(device, event.report, now)
    case 'reported':
      return applyReported(device, event, now)
    case 'shadow_wanted':
      return sendShadow(device, event, now)
    case 'acked':
      return applyAck(device, event, now)
    case 'acked_unreadably':
      return noteUnreadableAck(device, event, now)
    case 'delivered':
      return applyDelivery(device, event, now)
    case 'overdue':
      return expire(device, now)
    case 'ota_reported':
    case 'ota_delivered':
    case 'ota_session':
    case 'ota_overdue':
      return applyOtaEvent(device, event, now)
    default:
      return unreachable(event)
  }
}

export function register(
  id: Device['id'],
  request: Extract<DeviceRequest, { kind: 'register' }>,
  author: Author,
  now: Millis,
): Outcome {
  const device: Device = {
    id,
    name: request.name,
    type: request.type,
    description: request.description,
    group: request.group,
    tags: request.tags ?? [],
    metadata: request.metadata ?? {},
    // The request's schema lets only a device id or nothing through.
    parentId: request.parentId as Device['parentId'],
    heartbeatTimeoutSec: request.heartbeatTimeoutSec,
    status: 'provisioning',
    statusReason: undefined,
    statusSince: now,
    tokensValidFrom: now,
    firmwareVersion: undefined,
    issues: [],
    faultNames: undefined,
    shadow: NEW_SHADOW,
    commands: NO_COMMANDS,
    firmware: NO_FIRMWARE,
    alerts: NO_ALERTS,
    seenAt: undefined,
    createdAt: now,
    createdBy: author.id,
    updatedAt: now,
    revision: 1,
    registrationPlace: undefined,
    registrationKey: request.idempotencyKey,
    replayed: undefined,
  }
  return {
    device,
    effects: [{ kind: 'announce', event: 'device.registered', cause: 'register', by: author }],
  }
}

/** True if the caller repeats the request because the answer was lost. */
function isRepeated(
  { registrationKey, createdAt }: Device,
  { idempotencyKey }: Extract<DeviceRequest, { kind: 'register' }>,
  now: Millis,
): boolean {
  return (
    idempotencyKey !== undefined &&
    idempotencyKey === registrationKey &&
    createdAt + LIMITS.idempotencyKeyMs > now
  )
}

/** When this device must next be looked at; `heardAt` and `recoverAt` are vitals (R6). Silence is measured from the last
 *  change of status at the earliest, because in some statuses, such as maintenance, silence does not count. */
export function nextDeadline(
  device: Device,
  vitals: { readonly heardAt: number; readonly recoverAt: number },
  heartbeatTimeoutMs: number,
): number {
  if (device.status === 'online') return Math.max(vitals.heardAt, device.statusSince) + heartbeatTimeoutMs
  if (device.status === 'error') return vitals.recoverAt
  return Number.POSITIVE_INFINITY
}

function applyRequest(
  device: Device,
  request: DeviceRequest,
  { by: author, now }: { readonly by: Author; readonly now: Millis },
): Outcome {
  const { id: by } = author
  const isDecommissioned = isFinal(device.status)
  if (isDecommissioned && REFUSED_WHEN_DECOMMISSIONED.has(request.kind))
    return refuse(device, 'DEVICE_DECOMMISSIONED', { device_id: device.id })
  switch (request.kind) {
    case 'register':
      if (isRepeated(device, request, now)) return { device, effects: [] }
      return refuse(device, 'ALREADY_EXISTS', { resource: 'device', device_id: device.id })
    case 'edit':
      return edit(device, request, { by: author, now })
    case 'decommission':
      if (request.createdAt !== undefined && request.createdAt !== device.createdAt)
        return refuse(device, 'NOT_FOUND', {})
      // A repeat after a lost answer is no failure, although the decommissioning changed the revision.
      if (!isDecommissioned && request.ifRevision !== undefined && request.ifRevision !== device.revision)
        return refuse(device, 'PRECONDITION_FAILED', { expected: device.revision, got: request.ifRevision })
      return decommission(device, { reason: request.reason, by: author, now })
    case 'purge':
      return purge(device, request.createdAt, { by: author, now })
    case 'revoke':
      return revoke(device, request, now)
    case 'desire':
      return applyDesired(device, request, { by: author, now })
    case 'command':
      return requestCommand(device, request, { by, now })
    case 'cancel':
      return requestCancel(device, request, { by, now })
    case 'ota_enlist':
    case 'ota_grant':
    case 'ota_cancel':
    case 'ota_retry':
    case 'ota_roll_back':
    case 'ota_unblock':
    case 'ota_began':
    case 'ota_refused':
    case 'ota_sent':
      return applyOtaRequest(device, request, now)
    case 'ddi':
      return request.act.kind === 'configure'
        ? configure(device, request.act, now)
        : applyDdiAct(device, request.act, now)
    case 'alert':
      return actOnAlert(device, request, { by: author, now })
    default:
      return unreachable(request)
  }
}

const REFUSED_WHEN_DECOMMISSIONED: ReadonlySet<DeviceRequest['kind']> = new Set([
  'revoke',
  'desire',
  'command',
  'cancel',
  'ota_enlist',
  'ota_grant',
  'ota_cancel',
  'ota_retry',
  'ota_roll_back',
  'ota_unblock',
  'ota_began',
  'ota_refused',
  'ota_sent',
  'ddi',
])

function edit(
  device: Device,
  request: DeviceEdit,
  { by, now }: { readonly by: Author; readonly now: Millis },
): Outcome {
  const verdict = decideEdit(device, request)
  if (verdict.kind === 'refused') return refuse(device, verdict.code, verdict.detail)
  if (verdict.kind === 'same') return unchanged(device)
  const { device: edited, cause } = verdict
  if (cause === undefined)
    return { device: changed(edited, now), effects: [{ kind: 'announce', event: 'device.updated' }] }
  const reason = request.statusReason
  if (cause === 'decommission') return decommission(edited, { reason, by, now }, device)
  return move(edited, { cause, now, reason, by }, device)
}

/** Runs for DELETE, and for a status set by hand. */
function decommission(
  device: Device,
  { reason, by, now }: { readonly reason: string | undefined; readonly by: Author; readonly now: Millis },
  before: Device = device,
): Outcome {
  // A repeated DELETE returns the device unchanged.
  if (isFinal(device.status)) return unchanged(device)
  const abandoned = abandon(device, { by: by.id, now })
  const jobless = abandonJobs(abandoned.device, now)
  const { device: decommissioned, effects } = move(
    jobless.device,
    { cause: 'decommission', now, reason, by },
    before,
  )
  return { device: decommissioned, effects: [...abandoned.effects, ...jobless.effects, ...effects] }
}

/** The final request of a device. Ends its sessions and clears its retained messages, even if it was already
 *  decommissioned. */
function purge(
  device: Device,
  createdAt: Millis,
  call: { readonly by: Author; readonly now: Millis },
): Outcome {
  if (device.createdAt !== createdAt) return refuse(device, 'NOT_FOUND', {})
  const decommissioned = decommission(device, { reason: 'purged', ...call })
  return {
    device: decommissioned.device,
    effects: [...decommissioned.effects, { kind: 'cut' }, { kind: 'forget' }],
  }
}

/** Picks a time after every earlier token, including those of the same millisecond. */
function revoke(
  device: Device,
  { ifRevision }: Extract<DeviceRequest, { kind: 'revoke' }>,
  now: Millis,
): Outcome {
  if (ifRevision !== undefined && ifRevision !== device.revision)
    return refuse(device, 'PRECONDITION_FAILED', { expected: device.revision, got: ifRevision })
  const tokensValidFrom = Millis(Math.max(now, device.tokensValidFrom) + 1)
  const effects = [{ kind: 'announce', event: 'device.updated' }, { kind: 'end_sessions' }] as const
  return { device: changed({ ...device, tokensValidFrom }, now), effects }
}

function diagnose(device: Device, faults: readonly NamedFault[], now: Millis): Outcome {
  const diagnosed = withFaults(device, faults)
  if (device.status === 'error' && diagnosed !== device)
    return { device: changed(diagnosed, now), effects: [{ kind: 'announce', event: 'device.updated' }] }
  const moved = move(diagnosed, { cause: 'fault', now, reason: faults[0]?.text }, device)
  if (moved.device === device) return moved
  const after = applyFaults(moved.device, now)
  return { device: after.device, effects: [...moved.effects, ...after.effects] }
}

function describe(device: Device, report: DescribedDevice, now: Millis): Outcome {
  const updated = withReportedImage(device, report, now)
  const isUpdated = updated.firmwareVersion !== device.firmwareVersion
  const after = proveJobs(isUpdated ? changed(updated, now) : updated, report, now)
  if (!isUpdated) return after
  return { device: after.device, effects: [{ kind: 'announce', event: 'device.updated' }, ...after.effects] }
}

/** The reported version is treated like one in any other message of the device. */
function configure(
  device: Device,
  act: Extract<DdiAct, { readonly kind: 'configure' }>,
  now: Millis,
): Outcome {
  const configured = withAttributes(device, act, now)
  if (configured.effects.some(({ kind }) => kind === 'refuse') || act.version === undefined) return configured
  const unreported = {
    sha256: undefined,
    bootId: undefined,
    boot: 'unsaid',
    mayBeOld: false,
    session: undefined,
  } as const
  const after = describe(configured.device, { ...unreported, version: act.version }, now)
  return { device: after.device, effects: [...configured.effects, ...after.effects] }
}

interface Move {
  readonly cause: Cause
  readonly now: Millis
  readonly seenAt?: Millis
  readonly reason?: string | undefined
  /** The person who changed the status by hand. */
  readonly by?: Author
}

/** Moves the status if the table allows it, and otherwise returns `before` itself (D1). */
function move(device: Device, { cause, now, seenAt, reason, by }: Move, before: Device = device): Outcome {
  const status: DeviceStatus | undefined = MOVES[before.status][cause]
  if (status === undefined) return unchanged(before)
  const moved = changed(
    {
      ...(status === 'error' ? device : withoutFaults(device)),
      status,
      statusReason: reason,
      statusSince: now,
      seenAt: seenAt ?? device.seenAt,
    },
    now,
  )
  const effects: Effect[] = [{ kind: 'announce', event: 'device.status', cause, by }]
  if (status !== 'decommissioned') return { device: moved, effects }
  effects.push({ kind: 'cut' })
  return { device: { ...moved, tokensValidFrom: now }, effects }
}

function changed(device: Device, now: Millis): Device {
  return { ...device, updatedAt: now, revision: device.revision + 1 }
}

function unchanged(device: Device): Outcome {
  return { device, effects: [] }
}

function refuse(device: Device, code: RefusalCode, detail: Readonly<Record<string, unknown>>): Outcome {
  return { device, effects: [{ kind: 'refuse', code, detail }] }
}
