// Converts the body of POST /devices or a row of a bulk registration to the engine's request.
import type { DeviceRequest } from '../../engine/domain/device/events.ts'
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import type { RegisterDeviceBody } from '../../schemas/device.ts'
import { type DeviceId, parseDeviceId, toIso } from '../../schemas/ids.ts'
import type { Services } from '../http/services.ts'
import { type Refusal, refused } from '../refusal.ts'
import { refuseMetadata, unique, unknownType } from './device-checks.ts'

interface Registration {
  readonly kind: 'registration'
  readonly deviceId: DeviceId
  readonly request: Extract<DeviceRequest, { kind: 'register' }>
}

export function toRegistration(
  services: Pick<Services, 'deviceTypes' | 'ids'>,
  body: RegisterDeviceBody,
): Registration | Refusal {
  if (!services.deviceTypes.names.includes(body.type)) return unknownType(services, 'body')
  const unfit = refuseMetadata(body.metadata)
  if (unfit !== undefined) return unfit
  const deviceId = parseDeviceId(body.device_id ?? services.ids.next('dev_'))
  if (deviceId === undefined) return refused('VALIDATION_FAILED')
  const request = {
    kind: 'register',
    name: body.name,
    type: body.type,
    description: body.description ?? undefined,
    group: body.group ?? undefined,
    tags: unique(body.tags) ?? undefined,
    metadata: body.metadata ?? undefined,
    parentId: body.parent_id ?? undefined,
    heartbeatTimeoutSec: body.heartbeat_timeout_sec ?? undefined,
  } as const
  return { kind: 'registration', deviceId, request }
}

/** The MQTT password that a device is given at registration. */
export async function firstToken(
  { tokens }: Pick<Services, 'tokens'>,
  { id, tokensValidFrom }: Pick<DeviceRecord, 'id' | 'tokensValidFrom'>,
): Promise<{ readonly access_token: string; readonly token_expires_at: string }> {
  const ttlSec = BODY_LIMITS.deviceTokenHoursMax * 3600
  const { token, expiresAt } = await tokens.issueDevice({ deviceId: id, validFrom: tokensValidFrom, ttlSec })
  return { access_token: token, token_expires_at: toIso(expiresAt) }
}
