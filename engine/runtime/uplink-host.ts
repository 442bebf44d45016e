// What the broker needs of the engine: everything it hears goes into the log.
import { accessRefused, connectRefused } from '../domain/audit/device-refusals.ts'
import type { AuditEntry } from '../domain/audit/entry.ts'
import { FRAME } from '../domain/bundle.ts'
import type { Admission, ConnectAttempt, DeviceSession, EndCause, UplinkHost } from '../ports/broker.ts'
import type { Ingest } from './ingest.ts'
import { packSession } from './sessions.ts'

export function uplinkHost(
  ingest: Ingest,
  admit: (attempt: ConnectAttempt) => Promise<Admission>,
  recordRefusal: (entry: AuditEntry) => void,
): UplinkHost {
  const payloadOf = ({ number, ip }: DeviceSession, cause?: EndCause) => packSession({ number, ip, cause })
  return {
    async admit(attempt) {
      const admission = await admit(attempt)
      if (admission.kind === 'denied') recordRefusal(connectRefused(attempt, admission.reason))
      return admission
    },
    sessionNumber: () => ingest.nextAt(),
    opened: (session) => ingest.session(FRAME.opened, session, payloadOf(session)),
    listening: (session) => ingest.session(FRAME.listening, session, payloadOf(session)),
    uplink: (session, message) => ingest.message(session, message),
    closed: (session, cause) => ingest.session(FRAME.closed, session, payloadOf(session, cause)),
    refused: (session, wanted) => recordRefusal(accessRefused(session, wanted)),
    isCongested: () => ingest.isCongested(),
  }
}
