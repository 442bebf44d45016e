// A dead letter as the API shows it.
import { adviceOn } from '../../engine/domain/dead-letter/advice.ts'
import { replayWay } from '../../engine/domain/replay-way.ts'
import type { DeadLetter } from '../../engine/ports/store.ts'
import { toIso, toMillis } from '../../schemas/ids.ts'

export function deadLetterBody(letter: DeadLetter) {
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
    replayable: replayWay(letter) !== undefined,
  }
}

function payloadText(payload: Uint8Array) {
  try {
    // A payload that was truncated within a character is shown as Base64, like one that is not text.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(payload)
    return { payload: text, payload_encoding: 'utf8' }
  } catch {
    // The payload is not UTF-8.
    return { payload: Buffer.from(payload).toString('base64'), payload_encoding: 'base64' }
  }
}
