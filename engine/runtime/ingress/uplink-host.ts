// The engine as the broker sees it: everything the broker hears goes into the log.
import { isSubSuffix, parseSubSuffix, TOKEN_GET_SUFFIX } from '../../../schemas/topics.ts'
import { accessRefused, connectRefused } from '../../domain/audit/device-refusals.ts'
import type { AuditEntry } from '../../domain/audit/entry.ts'
import { ITEM } from '../../domain/bundle.ts'
import { toDelivered } from '../../domain/command/messages.ts'
import { toForbiddenSuffix } from '../../domain/dead-letter/stray-topic.ts'
import { partitionOf } from '../../domain/partition.ts'
import {
  type Admission,
  COMMAND_SUFFIX,
  type ConnectAttempt,
  type DeviceSession,
  OTA_SUFFIX,
  type UplinkHost,
} from '../../ports/broker.ts'
import { packDelivered } from '../shard/control-uplinks.ts'
import { hasChanged, listeningPayload, sessionPayload, type TakenTopics } from '../shard/sessions.ts'
import type { Gateways } from './gateways.ts'
import type { Ingest } from './ingest.ts'
import { judgeMessage } from './judge.ts'
import type { TokenIssuer } from './token-issuer.ts'

interface UplinkPorts {
  readonly admit: (attempt: ConnectAttempt) => Promise<Admission>
  readonly recordRefusal: (entry: AuditEntry) => void
  readonly heard: UplinkHost['heard']
  /** Called when the subscriptions of a session have changed. */
  readonly subscribed: (session: DeviceSession) => void
  readonly tokens: Pick<TokenIssuer, 'requested' | 'expiring'>
}

export function uplinkHost(
  ingest: Ingest,
  gateways: Gateways,
  { admit, recordRefusal, heard, subscribed: subscriptionsChanged, tokens }: UplinkPorts,
): UplinkHost {
  const listening = new WeakMap<DeviceSession, TakenTopics>()
  return {
    async admit(attempt) {
      const admission = await admit(attempt)
      if (admission.kind === 'denied') recordRefusal(connectRefused(attempt, admission.reason))
      return admission
    },
    sessionNumber: () => ingest.nextAt(),
    opened(session) {
      ingest.session(ITEM.opened, session, sessionPayload(session))
      gateways.opened(session)
    },
    subscribed(session) {
      const takes = { commands: session.takes(COMMAND_SUFFIX), ota: session.takes(OTA_SUFFIX) }
      if (hasChanged(takes, listening.get(session))) {
        listening.set(session, takes)
        ingest.session(ITEM.listening, session, listeningPayload(session, takes))
      }
      gateways.subscribed(session)
      subscriptionsChanged(session)
    },
    uplink(session, message) {
      if (message.suffix === TOKEN_GET_SUFFIX && message.isDup !== true)
        tokens.requested(session, message.payload)
      if (isSubSuffix(message.suffix)) gateways.uplink(session, message)
      else ingest.message(session, message)
    },
    delivered(session, suffix, requestId) {
      const sub = parseSubSuffix(suffix)
      const own = sub?.suffix ?? suffix
      if (own !== COMMAND_SUFFIX && own !== OTA_SUFFIX) return
      const deviceId = sub?.deviceId ?? session.deviceId
      const what = own === OTA_SUFFIX ? { deploymentId: requestId } : toDelivered(requestId)
      ingest.delivered(deviceId, partitionOf(deviceId), packDelivered(what))
    },
    sync: (session) => ingest.sync(session),
    left: (session) => gateways.left(session),
    closed(session, cause) {
      ingest.session(ITEM.closed, session, sessionPayload(session, cause))
      gateways.closed(session, cause)
    },
    refused(session, wanted, message) {
      recordRefusal(accessRefused(session, wanted))
      if (message !== undefined) ingest.stray(session, toForbiddenSuffix(message.topic), message.payload)
    },
    rejected: (attempt, reason) => recordRefusal(connectRefused(attempt, reason)),
    judge: (suffix, payload) => judgeMessage(suffix, payload, ingest.now()),
    sendersOf: (session) => gateways.sendersOf(session),
    expiring: (session, expiresAt) => tokens.expiring(session, expiresAt),
    heard,
    isCongested: () => ingest.isCongested(),
  }
}
