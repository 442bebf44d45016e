// Authenticates callers of the DDI: a device with its own token or certificate, or its gateway with that of the gateway.
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import type { ClientCertificate } from '../../engine/ports/client-certificate.ts'
import { type DeviceId, parseDeviceId } from '../../schemas/ids.ts'
import type { Services } from '../http/services.ts'
import { type Refusal, refused } from '../refusal.ts'

export type DdiCaller = { readonly kind: 'device'; readonly deviceId: DeviceId } | Refusal

interface About {
  readonly id: string
  readonly authorization: string | undefined
  readonly certificate: ClientCertificate | undefined
  readonly writes: boolean
}

/** The device that the caller proved to be, and what it may do. */
interface Proof {
  readonly kind: 'proof'
  readonly owner: DeviceId
  /** If the request is for another device, the caller must be the gateway of that device. */
  readonly isGateway: boolean
  /** Undefined for a certificate, which is revoked through the revocation list. */
  readonly issuedAt: number | undefined
  readonly mayRead: boolean
  readonly mayWrite: boolean
}

export async function ddiCaller(
  services: Pick<Services, 'tokens' | 'engine'>,
  about: About,
): Promise<DdiCaller> {
  const { engine } = services
  const proof = await proofOf(services, about)
  if (proof.kind === 'refused') return proof
  const deviceId = parseDeviceId(about.id)
  const device = deviceId && engine.devices.get(deviceId)
  const owner = engine.devices.get(proof.owner)
  const speaksFor = proof.isGateway ? device?.parentId === proof.owner : proof.owner === deviceId
  // Callers who may not act for a device must not learn whether it exists.
  if (device === undefined || owner === undefined || !speaksFor)
    return unauthenticated('the token or the certificate is of another device')
  const isRevoked = proof.issuedAt !== undefined && proof.issuedAt < owner.tokensValidFrom
  if ([device, owner].some(isDecommissioned) || isRevoked) return unauthenticated('the token was revoked')
  if (!(about.writes ? proof.mayWrite : proof.mayRead))
    return refused('FORBIDDEN', {
      message: `the token lacks the scope ${about.writes ? 'publish' : 'subscribe'}`,
    })
  return { kind: 'device', deviceId: device.id }
}

async function proofOf(
  { tokens }: Pick<Services, 'tokens'>,
  { id, authorization, certificate }: About,
): Promise<Proof | Refusal> {
  if (certificate?.fault !== undefined) return unauthenticated(`the certificate ${certificate.fault}`)
  if (authorization === undefined && certificate !== undefined) {
    const owner = parseDeviceId(certificate.commonName)
    if (owner === undefined)
      return unauthenticated('the common name of the certificate must be the device id')
    const isGateway = certificate.commonName !== id
    return { kind: 'proof', owner, isGateway, issuedAt: undefined, mayRead: true, mayWrite: true }
  }
  const [, scheme = '', token = ''] =
    /^(TargetToken|GatewayToken) +(\S{1,8192})$/i.exec(authorization ?? '') ?? []
  if (token === '') return unauthenticated('send Authorization: TargetToken <device token>')
  const verified = await tokens.verifyDevice(token)
  if (verified.kind === 'void') return unauthenticated(`the device token is ${verified.why}`)
  const { deviceId: owner, issuedAt, maySubscribe: mayRead, mayPublish: mayWrite } = verified.claims
  if (certificate !== undefined && certificate.commonName !== owner)
    return unauthenticated('the certificate and the token are of different devices')
  return {
    kind: 'proof',
    owner,
    isGateway: scheme.toLowerCase() !== 'targettoken',
    issuedAt,
    mayRead,
    mayWrite,
  }
}

const isDecommissioned = ({ status }: DeviceRecord) => status === 'decommissioned'
const unauthenticated = (message: string) => refused('UNAUTHENTICATED', { message })
