// Which connection a device's `status` belongs to. What was not acknowledged in one connection comes again in the next. So
// a device may report for a moment what it ran before its restart.
//
// - Session ids tell connections apart, as a device has a new one after each connect. If a device keeps its id, or counts
//   from one again after a restart, the id proves nothing until the device announces another one in the same connection.
import type { Actor } from './actor.ts'

/** `unclear`: the id is that of an earlier connection, and the device has said no other in this one yet. */
export type StatusSession = 'this' | 'earlier' | 'unclear'

/** Notes the session id that a device announces. */
export function statusSessionOf(actor: Actor, sessionId: string | undefined): StatusSession {
  if (sessionId === undefined) return 'this'
  const session = actor.session?.number
  const isAnnouncedHere = session !== undefined && session === actor.statusAnnouncedIn
  if (sessionId === actor.statusSessionId)
    return isAnnouncedHere || session === undefined ? 'this' : 'unclear'
  const isFormer = sessionId === actor.formerStatusSessionId
  if (isFormer && isAnnouncedHere) return 'earlier'
  actor.formerStatusSessionId = actor.statusSessionId
  actor.statusSessionId = sessionId
  actor.statusAnnouncedIn = isFormer ? undefined : session
  return isFormer ? 'unclear' : 'this'
}
