// The broker's own checks of a CONNECT that the host admits. Pure but for what the ports answer.

import type { DeviceId } from '../../../../schemas/ids.ts'
import { CONNACK, type ConnackCode, type SessionGrant } from '../../../ports/broker.ts'
import { allowWill, type Connect, type Will } from './connect.ts'

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

export type ConnectStep = (request: ConnectRequest, ports: ConnectPorts) => ConnackCode

/** The steps run in this order; the first code other than `accepted` is the answer. */
export const connectSteps: readonly ConnectStep[] = [checkCertificate, checkRoom, allowLastWill]

/** The certificate may have been revoked while the host made up its mind. */
function checkCertificate({ serial }: ConnectRequest, { isRevoked }: ConnectPorts): ConnackCode {
  return serial !== undefined && isRevoked(serial) ? CONNACK.unauthorized : CONNACK.accepted
}

function checkRoom({ admission }: ConnectRequest, { hasRoomFor }: ConnectPorts): ConnackCode {
  return hasRoomFor(admission.deviceId) ? CONNACK.accepted : CONNACK.unavailable
}

function allowLastWill(request: ConnectRequest): ConnackCode {
  const { connect, admission } = request
  if (connect.will === undefined) return CONNACK.accepted
  request.will = admission.mayPublish ? allowWill(connect.will, admission.deviceId) : undefined
  return request.will === undefined ? CONNACK.unauthorized : CONNACK.accepted
}
