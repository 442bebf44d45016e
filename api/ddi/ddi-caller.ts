// Who speaks the DDI: a device with its own token, or the gateway that it is behind with that of the gateway.
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import { type DeviceId, parseDeviceId } from '../../schemas/ids.ts'
import type { Services } from '../http/services.ts'
import { type Refusal, refused } from '../refusal.ts'

export type DdiCaller = { readonly kind: 'device'; readonly deviceId: DeviceId } | Refusal

export async function ddiCaller(
  { tokens, engine }: Pick<Services, 'tokens' | 'engine'>,
  about: { readonly id: string; readonly authorization: string | undefined; readonly writes: boolean },
): Promise<DdiCaller> {
  const [, scheme = '', token = ''] =
    /^(TargetToken|GatewayToken) +(\S{1,8192})$/i.exec(about.authorization ?? '') ?? []
  if (token === '') return stranger('send Authorization: TargetToken <device token>')
  const deviceId = parseDeviceId(about.id)
  const device = deviceId && engine.devices.get(deviceId)
  const verified = await tokens.verifyDevice(token)
  if (verified.kind === 'void') return stranger(`the device token ${verified.why}`)
  const { claims } = verified
  const owner = engine.devices.get(claims.deviceId)
  const isOwn = scheme.toLowerCase() === 'targettoken'
  const speaksFor = isOwn ? claims.deviceId === deviceId : device?.parentId === claims.deviceId
  // Whether a device exists is nobody's business who cannot speak for it.
  if (device === undefined || owner === undefined || !speaksFor)
    return stranger('the token is of another device')
  if ([device, owner].some(isGone) || claims.issuedAt < owner.tokensValidFrom)
    return stranger('the token was revoked')
  const isAllowed = about.writes ? claims.mayPublish : claims.maySubscribe
  if (!isAllowed)
    return refused('FORBIDDEN', {
      message: `the token lacks the scope ${about.writes ? 'publish' : 'subscribe'}`,
    })
  return { kind: 'device', deviceId: device.id }
}

const isGone = ({ status }: DeviceRecord) => status === 'decommissioned'
const stranger = (message: string) => refused('UNAUTHENTICATED', { message })
