// What the broker needs of the engine: everything it hears goes into the log.
import { isSubSuffix, parseSubSuffix } from '../../../schemas/topics.ts'
import { accessRefused, connectRefused } from '../../domain/audit/device-refusals.ts'
import type { AuditEntry } from '../../domain/audit/entry.ts'
import { ITEM } from '../../domain/bundle.ts'
import { toDelivered } from '../../domain/command/messages.ts'
import { partitionOf } from '../../domain/partition.ts'
import {
  type Admission,
  COMMAND_SUFFIX,
  type ConnectAttempt,
  type DeviceSession,
  type UplinkHost,
} from '../../ports/broker.ts'
import { packDelivered } from '../shard/control-uplinks.ts'
import { sessionPayload } from '../shard/sessions.ts'
import type { Gateways } from './gateways.ts'
import type { Ingest } from './ingest.ts'

interface UplinkMeans {
  readonly admit: (attempt: ConnectAttempt) => Promise<Admission>
  readonly recordRefusal: (entry: AuditEntry) => void
  readonly heard: UplinkHost['heard']
}

export function uplinkHost(
  ingest: Ingest,
  gateways: Gateways,
  { admit, recordRefusal, heard }: UplinkMeans,
): UplinkHost {
  const listening = new WeakSet<DeviceSession>()
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
      if (!listening.has(session) && session.takes(COMMAND_SUFFIX)) {
        listening.add(session)
        ingest.session(ITEM.listening, session, sessionPayload(session))
      }
      gateways.subscribed(session)
    },
    uplink(session, message) {
      if (isSubSuffix(message.suffix)) gateways.uplink(session, message)
      else ingest.message(session, message)
    },
    delivered(session, suffix, requestId) {
      const sub = parseSubSuffix(suffix)
      if ((sub?.suffix ?? suffix) !== COMMAND_SUFFIX) return
      const deviceId = sub?.deviceId ?? session.deviceId
      ingest.delivered(deviceId, partitionOf(deviceId), packDelivered(toDelivered(requestId)))
    },
    sync: (session) => ingest.sync(session),
    left: (session) => gateways.left(session),
    closed(session, cause) {
      ingest.session(ITEM.closed, session, sessionPayload(session, cause))
      gateways.closed(session, cause)
    },
    refused: (session, wanted) => recordRefusal(accessRefused(session, wanted)),
    heard,
    isCongested: () => ingest.isCongested(),
  }
}
