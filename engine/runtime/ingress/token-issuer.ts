// Answers devices that ask for a new token, and warns those whose credentials end soon. The audit lists the latter for the
// fleet's operators.
import { type DeviceId, type Millis, toIso } from '../../../schemas/ids.ts'
import { ERROR_SUFFIX, TOKEN_ACCEPTED_SUFFIX, TOKEN_GET_SUFFIX, topicOf } from '../../../schemas/topics.ts'
import { credentialsEnd } from '../../domain/audit/device-refusals.ts'
import type { AuditEntry } from '../../domain/audit/entry.ts'
import type { AddressedMessage } from '../../domain/dead-letter/error-message.ts'
import { readTokenRequest } from '../../domain/device/token-request.ts'
import { toDownlink } from '../../domain/downlink.ts'
import { LIMITS } from '../../limits.ts'
import type { Broker, DeviceSession } from '../../ports/broker.ts'
import type { TokenAnswer, TokenRequest } from '../../ports/device-tokens.ts'

export interface TokenIssuerPorts {
  readonly broker: Pick<Broker, 'publish'>
  readonly now: () => Millis
  readonly failed: (error: unknown) => void
  /** Undefined if the device may not have a token. */
  readonly issue: (wish: TokenRequest) => Promise<TokenAnswer | undefined>
  readonly publishError: (message: AddressedMessage) => void
  readonly recordAudit: (entry: AuditEntry) => void
}

export class TokenIssuer {
  readonly #ports: TokenIssuerPorts
  /** When each device last got a token, oldest first. */
  readonly #issuedAt = new Map<DeviceId, Millis>()
  /** The end of credentials last noted for each device, which may connect many times before it. Oldest first. */
  readonly #recordedExpiry = new Map<DeviceId, Millis>()

  constructor(ports: TokenIssuerPorts) {
    this.#ports = ports
  }

  /** Answers a message on `token/get`. A message that cannot be read becomes a dead letter in the shard. */
  requested(session: DeviceSession, payload: Uint8Array): void {
    const request = readTokenRequest(payload)
    if (request.kind === 'refused' || !this.#isDue(session.deviceId)) return
    this.#answer(session, request).catch(this.#ports.failed)
  }

  /** Warns the device that the session's credentials end soon. */
  expiring(session: DeviceSession, expiresAt: Millis): void {
    const { deviceId } = session
    this.#recordExpiry(session, expiresAt)
    const body = {
      code: 'TOKEN_EXPIRES',
      detail: `the credentials of this connection end at ${toIso(expiresAt)}`,
      topic: topicOf(deviceId, TOKEN_GET_SUFFIX),
      advice:
        'publish on token/get, keep the mqtt_token that comes on token/accepted, and connect with it next time',
      timestamp: toIso(this.#ports.now()),
    }
    this.#ports.publishError({ deviceId, message: toDownlink(ERROR_SUFFIX, body, { qos: 0 }) })
  }

  #recordExpiry(session: DeviceSession, expiresAt: Millis): void {
    const { deviceId } = session
    if (this.#recordedExpiry.get(deviceId) === expiresAt) return
    this.#recordedExpiry.delete(deviceId)
    const [oldest] = this.#recordedExpiry.keys()
    if (oldest !== undefined && this.#recordedExpiry.size >= LIMITS.tokensAtOnceMax)
      this.#recordedExpiry.delete(oldest)
    this.#recordedExpiry.set(deviceId, expiresAt)
    this.#ports.recordAudit(credentialsEnd(session, expiresAt))
  }

  async #answer(
    { deviceId, tokenSec, issuedAt }: DeviceSession,
    {
      ttlSec,
      clientToken,
    }: { readonly ttlSec: number | undefined; readonly clientToken: string | undefined },
  ): Promise<void> {
    const answer = await this.#ports.issue({ deviceId, ttlSec, tokenSec, issuedAt })
    if (answer === undefined) return
    const body = { ...answer, ...(clientToken === undefined ? {} : { client_token: clientToken }) }
    await this.#ports.broker.publish({ ...toDownlink(TOKEN_ACCEPTED_SUFFIX, body), deviceId })
  }

  /** Signing costs CPU, so each device gets at most one token per `LIMITS.tokenEveryMs`. */
  #isDue(deviceId: DeviceId): boolean {
    const now = this.#ports.now()
    for (const [oldest, issuedAt] of this.#issuedAt) {
      if (now < issuedAt + LIMITS.tokenEveryMs) break
      this.#issuedAt.delete(oldest)
    }
    if (this.#issuedAt.has(deviceId) || this.#issuedAt.size >= LIMITS.tokensAtOnceMax) return false
    this.#issuedAt.set(deviceId, now)
    return true
  }
}
