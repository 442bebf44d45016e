// Answers a device's SUBSCRIBE filter by filter, and finds the retained messages to send for new subscriptions.
import { suffixOf } from '../../../../schemas/topics.ts'
import { answer, SUBACK_REFUSED, suback } from './encode.ts'
import { grantsV5 } from './encode-v5.ts'
import { type FilterRequest, PACKET } from './packets.ts'
import { explain, REASON, type Reason } from './reasons.ts'
import type { LiveSession, SessionHub } from './session-hub.ts'
import type { Message, SubscribeRefusal } from './session-state.ts'

const REASONS: Readonly<Record<SubscribeRefusal, Reason>> = {
  forbidden: REASON.notAuthorized,
  shared: REASON.sharedSubscription,
  malformed: REASON.badFilter,
  too_many: REASON.quota,
}

/** Answers each filter separately [MQTT-3.8.4-5]. Returns the retained messages to send, or undefined if no filter was
 *  granted. */
export function subscribe(
  hub: SessionHub,
  session: LiveSession,
  { id, requests }: { readonly id: number; readonly requests: readonly FilterRequest[] },
): ReadonlySet<Message> | undefined {
  const { deviceId, state, v5Options } = session
  const retained = new Set<Message>()
  let refusal: SubscribeRefusal | undefined
  let grants = 0
  const codes = requests.map((request) => {
    const granted = state.subscribe(session, request)
    if (typeof granted === 'string') {
      hub.host.refused(session, 'subscribe')
      refusal ??= granted
      return v5Options === undefined ? SUBACK_REFUSED : REASONS[granted]
    }
    grants++
    const { retainHandling = 0 } = request
    if (retainHandling === 0 || (retainHandling === 1 && granted.isNew))
      for (const message of hub.retained.matching(deviceId, granted.suffix, hub.now())) retained.add(message)
    return request.qos
  })
  if (v5Options === undefined) session.send(suback(id, codes))
  else {
    const text = refusal && v5Options.wantsReasons ? explain(REASONS[refusal]).text : undefined
    session.send(grantsV5(PACKET.suback, id, { codes, text }))
  }
  return grants === 0 ? undefined : retained
}

export function unsubscribe(
  session: LiveSession,
  { id, requests }: { readonly id: number; readonly requests: readonly FilterRequest[] },
): void {
  const { deviceId, state, v5Options } = session
  const codes = requests.map(({ filter }) =>
    state.filters.delete(suffixOf(deviceId, filter) ?? '') ? REASON.success : REASON.noSubscription,
  )
  session.send(
    v5Options === undefined ? answer(PACKET.unsuback, id) : grantsV5(PACKET.unsuback, id, { codes }),
  )
}
