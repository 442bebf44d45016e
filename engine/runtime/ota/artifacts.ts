// The links by which devices download images, and the signed manifests that go with them. A link names the device, the
// deployment and its own expiry. An HMAC binds these to the firmware, so whoever serves the link need not ask anybody.
import { createHmac, sign, timingSafeEqual } from 'node:crypto'
import { DeploymentId, FirmwareId, Millis, parseDeviceId } from '../../../schemas/ids.ts'
import type { FirmwareRecord } from '../../domain/ota/firmware-record.ts'
import type {
  Artifacts,
  JobName,
  Link,
  LinkQuery,
  OtaSettings,
  Sendable,
  SentAttempt,
} from '../../ports/ota.ts'

const ARTIFACTS_PATH = '/ota/artifacts'

type Settings = Pick<OtaSettings, 'baseUrl' | 'urlKey' | 'urlTtlMs' | 'signing'>

export class SignedLinks implements Artifacts {
  readonly #settings: Settings

  constructor(settings: Settings) {
    this.#settings = settings
  }

  sendable(record: FirmwareRecord, about: SentAttempt): Sendable {
    const expiresAt = this.#endOf(about.issuedAt)
    return {
      url: this.#url(record, { ...about, expiresAt }),
      manifest: this.#manifest(record, about, expiresAt),
      expiresAt,
    }
  }

  /** Only the link, for a device that asks for it. */
  linkOf(record: FirmwareRecord, job: JobName, now: Millis): string {
    return this.#url(record, { ...job, expiresAt: this.#endOf(now) })
  }

  #endOf(from: number): Millis {
    // JWTs and links have whole seconds.
    return Millis(Math.ceil((from + this.#settings.urlTtlMs) / 1_000) * 1_000)
  }

  #url(record: FirmwareRecord, { deviceId, deploymentId, expiresAt }: Omit<Link, 'firmwareId'>): string {
    const link = { firmwareId: record.id, deviceId, deploymentId, expiresAt }
    const query = new URLSearchParams({
      device: link.deviceId,
      deployment: link.deploymentId,
      expires: String(expiresAt / 1_000),
      signature: this.#mac(link),
    })
    const path = `${ARTIFACTS_PATH}/${record.id}/${encodeURIComponent(record.filename)}`
    return `${this.#settings.baseUrl()}${path}?${query}`
  }

  /** Undefined unless this service made the link as it is. The caller must check whether it has expired. */
  read(firmwareId: string, { device, deployment, expires, signature }: LinkQuery): Link | undefined {
    const deviceId = parseDeviceId(device)
    if (deviceId === undefined || deployment === undefined || !/^\d{1,12}$/.test(expires ?? ''))
      return undefined
    const expiresAt = Millis(Number(expires) * 1_000)
    const link = {
      firmwareId: FirmwareId(firmwareId),
      deviceId,
      deploymentId: DeploymentId(deployment),
      expiresAt,
    }
    // Compared as text, because base64 has several spellings of the same bytes.
    const [given, mac] = [Buffer.from(signature ?? ''), Buffer.from(this.#mac(link))]
    return given.length === mac.length && timingSafeEqual(given, mac) ? link : undefined
  }

  #mac({ firmwareId, deviceId, deploymentId, expiresAt }: Link): string {
    // As a JSON list, because different lists never give the same text.
    const text = JSON.stringify([firmwareId, deviceId, deploymentId, expiresAt])
    return createHmac('sha256', this.#settings.urlKey).update(text).digest('base64url')
  }

  /** A compact JWS [RFC 7515], signed synchronously, because a message that waits for its signature could be overtaken. */
  #manifest(record: FirmwareRecord, about: SentAttempt, expiresAt: Millis): string | undefined {
    const { signing } = this.#settings
    if (signing === undefined) return undefined
    const claims = {
      sub: about.deviceId,
      dep: about.deploymentId,
      attempt: about.attempt,
      seq: about.seq,
      act: about.action,
      ver: record.version,
      typ: record.deviceType,
      sha256: record.sha256,
      size: record.sizeBytes,
      iat: Math.floor(about.issuedAt / 1_000),
      exp: expiresAt / 1_000,
    }
    const input = `${encoded({ alg: 'EdDSA', kid: signing.kid })}.${encoded(claims)}`
    return `${input}.${sign(null, Buffer.from(input), signing.key).toString('base64url')}`
  }
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
