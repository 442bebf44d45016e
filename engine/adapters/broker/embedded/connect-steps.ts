// The broker's own checks of a CONNECT that the host admits. Pure, except for what the ports answer.

import type { DeviceId } from '../../../../schemas/ids.ts'
import { CONNACK, type Refusal, type SessionGrant } from '../../../ports/broker.ts'
import { allowWill, type Will } from './connect.ts'
import type { Connect } from './connect-fields.ts'

export interface ConnectRequest {
  readonly connect: Connect
  readonly admission: SessionGrant
  /** Serial number of the certificate, if the device showed one. */
  readonly serial: string | undefined
  /** The last will, once `allowLastWill` has passed it. */
  will: Will | undefined
}

export interface ConnectPorts {
  isRevoked(serial: string): boolean
  hasRoomFor(deviceId: DeviceId): boolean
}

export type ConnectStep = (request: ConnectRequest, ports: ConnectPorts) => Refusal | undefined

/** The steps run in this order; the first refusal is sent. */
export const connectSteps: readonly ConnectStep[] = [checkCertificate, checkRoom, allowLastWill]

/** The certificate may have been revoked while the host was deciding. */
function checkCertificate({ serial }: ConnectRequest, { isRevoked }: ConnectPorts): Refusal | undefined {
  return serial !== undefined && isRevoked(serial)
    ? { code: CONNACK.unauthorized, reason: 'the certificate was revoked' }
    : undefined
}

function checkRoom({ admission }: ConnectRequest, { hasRoomFor }: ConnectPorts): Refusal | undefined {
  return hasRoomFor(admission.deviceId)
    ? undefined
    : { code: CONNACK.unavailable, reason: 'too many devices are connected' }
}

function allowLastWill(request: ConnectRequest): Refusal | undefined {
  const { connect, admission } = request
  if (connect.will === undefined) return undefined
  request.will = admission.mayPublish ? allowWill(connect.will, admission.deviceId) : undefined
  return request.will === undefined
    ? { code: CONNACK.unauthorized, reason: 'the will is not for a topic of this device, or too large' }
    : undefined
}
