// /dead-letters: messages that could not be processed (R10).
import { adviceOn } from '../../engine/domain/dead-letter/advice.ts'
import type { DeadLetter } from '../../engine/ports/store.ts'
import { parseDeviceId, toIso, toMillis } from '../../schemas/ids.ts'
import { listDeadLetters } from '../../schemas/operations/dead-letters.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'

export function deadLetterRoutes({ engine }: Services): readonly Route[] {
  return [
    route(listDeadLetters, async ({ query, url }) => {
      const window = toWindow(query)
      const deviceId = parseDeviceId(query.device_id)
      // A text that is no device id has no dead letters.
      if (query.device_id !== undefined && deviceId === undefined) return pageAnswer([], 0, window, url)
      const { letters, total } = await engine.deadLetters({
        offset: window.offset,
        limit: window.perPage,
        deviceId,
      })
      return pageAnswer(letters.map(letterBody), total, window, url)
    }),
  ]
}

function letterBody(letter: DeadLetter) {
  return {
    id: letter.id,
    device_id: letter.deviceId,
    topic: letter.topic,
    reason: letter.reason,
    detail: letter.detail,
    advice: adviceOn(letter.reason),
    ...payloadText(letter.payload),
    payload_bytes: letter.payloadBytes,
    received_at: toIso(toMillis(letter.receivedAt)),
  }
}

function payloadText(payload: Uint8Array) {
  try {
    // A payload that was cut within a character is shown as base64, like one that is no text.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(payload)
    return { payload: text, payload_encoding: 'utf8' }
  } catch {
    // The payload is not UTF-8.
    return { payload: Buffer.from(payload).toString('base64'), payload_encoding: 'base64' }
  }
}
