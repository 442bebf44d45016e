// Decides who may connect over MQTT: a device under its own id, with its own token, its own certificate, or both; or a
// device that registers itself with a provisioning key.

import { partitionOf } from '../../engine/index.ts'
import { type Admission, CONNACK, type ConnectAttempt } from '../../engine/ports/broker.ts'
import type { Directory } from '../../engine/ports/store.ts'
import { type DeviceId, type Millis, parseDeviceId } from '../../schemas/ids.ts'
import { lifetimeSecOf } from './device-renewal.ts'
import { isProvisioningKey } from './provisioning-keys.ts'
import { admitWithKey, type MqttProvisioning } from './provisioning-mqtt.ts'
import type { Tokens } from './tokens.ts'

/** [spec: Named error conditions] invalid credentials and unknown devices are both refused with return code 5. */
export function createDeviceAdmission({
  tokens,
  devices,
  provisioning,
}: {
  readonly tokens: Tokens
  readonly devices: Pick<Directory, 'get'>
  /** Returns undefined until the service can register devices. */
  readonly provisioning?: () => MqttProvisioning | undefined
}): (attempt: ConnectAttempt) => Promise<Admission> {
  /** The device that the peer has proved to be, or why the proof failed. */
  async function rightsOf(
    deviceId: DeviceId,
    { password, certificate }: ConnectAttempt,
  ): Promise<Rights | string> {
    if (certificate?.fault !== undefined) return `the certificate ${certificate.fault}`
    if (certificate !== undefined && certificate.commonName !== deviceId)
      return 'the certificate is of another device'
    if (password === undefined)
      return certificate === undefined
        ? 'no device token as password'
        : { mayPublish: true, maySubscribe: true, issuedAt: undefined, expiresAt: certificate.expiresAt }
    const verified = await tokens.verifyDevice(Buffer.from(password).toString('latin1'))
    if (verified.kind === 'void') return `device token ${verified.why}`
    const { claims } = verified
    if (claims.deviceId !== deviceId) return 'the token is of another device'
    const expiresAt =
      certificate === undefined ? claims.expiresAt : earlier(claims.expiresAt, certificate.expiresAt)
    return { ...claims, expiresAt }
  }

  return async (attempt) => {
    const deviceId = parseDeviceId(attempt.clientId)
    if (deviceId === undefined) return denied('identifier', 'the client id must be the device id')
    const key = attempt.password && Buffer.from(attempt.password).toString('latin1')
    if (key !== undefined && isProvisioningKey(key)) {
      const mqttProvisioning = provisioning?.()
      if (mqttProvisioning === undefined) return denied('unavailable', 'the service is starting; try again')
      return await admitWithKey(mqttProvisioning, { key, deviceId, ip: attempt.ip })
    }
    const rights = await rightsOf(deviceId, attempt)
    if (typeof rights === 'string') return denied('unauthorized', rights)
    const device = devices.get(deviceId)
    if (device === undefined) return denied('unauthorized', 'no such device')
    if (device.status === 'decommissioned') return denied('unauthorized', 'the device is decommissioned')
    if (rights.issuedAt !== undefined && rights.issuedAt < device.tokensValidFrom)
      return denied('unauthorized', 'the token was revoked')
    return {
      kind: 'admitted',
      deviceId,
      partition: partitionOf(deviceId),
      mayPublish: rights.mayPublish,
      maySubscribe: rights.maySubscribe,
      expiresAt: rights.expiresAt,
      tokenSec: rights.issuedAt && lifetimeSecOf(rights.issuedAt, rights.expiresAt),
    }
  }
}

interface Rights {
  readonly mayPublish: boolean
  readonly maySubscribe: boolean
  /** When the token was issued. Undefined for a certificate alone. */
  readonly issuedAt: Millis | undefined
  readonly expiresAt: Millis
}

function earlier(one: Millis, other: Millis): Millis {
  return one < other ? one : other
}

function denied(code: keyof typeof CONNACK, reason: string): Admission {
  return { kind: 'denied', code: CONNACK[code], reason }
}
