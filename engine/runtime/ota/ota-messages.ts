// The messages about firmware to devices, created when they are sent.
import { type DeviceId, type Millis, toIso } from '../../../schemas/ids.ts'
import { type DownlinkMessage, toDownlink } from '../../domain/downlink.ts'
import type { OtaSend } from '../../domain/ota/job-messages.ts'
import { OTA_SUFFIX } from '../../ports/broker.ts'
import type { Artifacts, FirmwareRecord, Firmwares } from '../../ports/ota.ts'

export interface OtaMessage extends DownlinkMessage {
  readonly expiresAt: Millis
}

export class OtaMessages {
  readonly #firmwares: Pick<Firmwares, 'get'>
  readonly #artifacts: Artifacts

  constructor(firmwares: Pick<Firmwares, 'get'>, artifacts: Artifacts) {
    this.#firmwares = firmwares
    this.#artifacts = artifacts
  }

  /** Undefined if the firmware must never be sent again. The job then ends by its timers. */
  messageOf(deviceId: DeviceId, send: OtaSend): OtaMessage | undefined {
    const record = this.#firmwares.get(send.firmwareId)
    if (record === undefined || (record.status === 'yanked' && send.action !== 'cancel')) return undefined
    const { deploymentId, attempt, seq, action, force, notAfter, issuedAt } = send
    const about = { deviceId, deploymentId, attempt, seq, action, issuedAt }
    const { url, manifest, expiresAt } = this.#artifacts.sendable(record, about)
    const order = { deployment_id: deploymentId, request_id: deploymentId, attempt, seq, action }
    const times = {
      not_after: notAfter === undefined ? null : toIso(notAfter),
      expires_at: toIso(expiresAt),
      issued_at: toIso(issuedAt),
    }
    const local = { local_ok: action === 'rollback', force }
    const signed = manifest === undefined ? {} : { manifest }
    const body = { ...order, ...imageBody(record), url, ...signed, ...local, ...times }
    return { ...toDownlink(OTA_SUFFIX, body), expiresAt }
  }
}

function imageBody(record: FirmwareRecord) {
  const { version, reportsAs, deviceType, sha256, sizeBytes, filename, contentType, signature } = record
  return {
    version,
    reports_as: reportsAs,
    device_type: deviceType,
    checksum: `sha256:${sha256}`,
    sha256,
    size_bytes: sizeBytes,
    filename,
    content_type: contentType,
    ...(signature === undefined ? {} : { signature: signature.value, signature_alg: signature.alg }),
  }
}
