// Who may connect over MQTT: a device that presents its own token, under its own id.

import { partitionOf } from '../engine/index.ts'
import { type Admission, CONNACK, type ConnectAttempt } from '../engine/ports/broker.ts'
import type { Store } from '../engine/ports/store.ts'
import { parseDeviceId } from '../schemas/ids.ts'
import type { Tokens } from './auth/tokens.ts'

/** [spec: Named error conditions] invalid credentials and unknown devices are both refused with return code 5. */
export function createAdmission({
  tokens,
  store,
}: {
  readonly tokens: Tokens
  readonly store: Pick<Store, 'get'>
}): (attempt: ConnectAttempt) => Promise<Admission> {
  return async ({ clientId, password }) => {
    const deviceId = parseDeviceId(clientId)
    if (deviceId === undefined) return denied('identifier', 'the client id must be the device id')
    if (password === undefined) return denied('unauthorized', 'no device token as password')
    const verified = await tokens.verifyDevice(Buffer.from(password).toString('latin1'))
    if (verified.kind === 'void') return denied('unauthorized', `device token ${verified.why}`)
    const { claims } = verified
    if (claims.deviceId !== deviceId) return denied('unauthorized', 'the token is of another device')
    const device = store.get(deviceId)
    if (device === undefined) return denied('unauthorized', 'no such device')
    if (device.status === 'decommissioned') return denied('unauthorized', 'the device is decommissioned')
    if (claims.issuedAt < device.tokensValidFrom) return denied('unauthorized', 'the token was revoked')
    return {
      kind: 'admitted',
      deviceId,
      partition: partitionOf(deviceId),
      mayPublish: claims.mayPublish,
      maySubscribe: claims.maySubscribe,
      expiresAt: claims.expiresAt,
    }
  }
}

function denied(code: keyof typeof CONNACK, reason: string): Admission {
  return { kind: 'denied', code: CONNACK[code], reason }
}
