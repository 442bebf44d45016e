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

export interface TokenDeskPorts {
  readonly broker: Pick<Broker, 'publish'>
  readonly now: () => Millis
  readonly failed: (error: unknown) => void
  /** Undefined if the device may not have a token. */
  readonly issue: (wish: TokenRequest) => Promise<TokenAnswer | undefined>
  readonly tell: (message: AddressedMessage) => void
  readonly note: (entry: AuditEntry) => void
}

export class TokenDesk {
  readonly #ports: TokenDeskPorts
  /** When each device last got a token, oldest first. */
  readonly #givenAt = new Map<DeviceId, Millis>()
  /** The end of credentials last noted for each device, which may connect many times before it. Oldest first. */
  readonly #noted = new Map<DeviceId, Millis>()

  constructor(ports: TokenDeskPorts) {
    this.#ports = ports
  }

  /** Answers a message on `token/get`. A message that cannot be read becomes a dead letter in the shard. */
  asked(session: DeviceSession, payload: Uint8Array): void {
    const request = readTokenRequest(payload)
    if (request.kind === 'refused' || !this.#isDue(session.deviceId)) return
    this.#answer(session, request).catch(this.#ports.failed)
  }

  /** Warns the device that the session's credentials end soon. */
  expiring(session: DeviceSession, expiresAt: Millis): void {
    const { deviceId } = session
    this.#note(session, expiresAt)
    const body = {
      code: 'TOKEN_EXPIRES',
      detail: `the credentials of this connection end at ${toIso(expiresAt)}`,
      topic: topicOf(deviceId, TOKEN_GET_SUFFIX),
      advice:
        'publish on token/get, keep the mqtt_token that comes on token/accepted, and connect with it next time',
      timestamp: toIso(this.#ports.now()),
    }
    this.#ports.tell({ deviceId, message: toDownlink(ERROR_SUFFIX, body, { qos: 0 }) })
  }

  #note(session: DeviceSession, expiresAt: Millis): void {
    const { deviceId } = session
    if (this.#noted.get(deviceId) === expiresAt) return
    this.#noted.delete(deviceId)
    const [oldest] = this.#noted.keys()
    if (oldest !== undefined && this.#noted.size >= LIMITS.tokensAtOnceMax) this.#noted.delete(oldest)
    this.#noted.set(deviceId, expiresAt)
    this.#ports.note(credentialsEnd(session, expiresAt))
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
    for (const [oldest, givenAt] of this.#givenAt) {
      if (now < givenAt + LIMITS.tokenEveryMs) break
      this.#givenAt.delete(oldest)
    }
    if (this.#givenAt.has(deviceId) || this.#givenAt.size >= LIMITS.tokensAtOnceMax) return false
    this.#givenAt.set(deviceId, now)
    return true
  }
}
