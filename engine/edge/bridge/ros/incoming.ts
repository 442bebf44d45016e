// Parses and checks the frames of a rosbridge server.
import { isObject, type Json, type JsonObject, parseJson } from '../../../../schemas/json.ts'
import { endOfString, quoteLargeIntegers } from './large-integers.ts'

export type Incoming =
  | { readonly kind: 'message'; readonly topic: string; readonly message: JsonObject }
  | { readonly kind: 'answer'; readonly id: string; readonly isOk: boolean; readonly values: Json }
  | { readonly kind: 'feedback'; readonly id: string; readonly values: Json }
  | {
      readonly kind: 'result'
      readonly id: string
      /** The status as in action_msgs/GoalStatus. Undefined if the server does not send it. */
      readonly status: number | undefined
      readonly isOk: boolean
      readonly values: Json
    }
  | {
      readonly kind: 'status'
      readonly level: string
      readonly text: string
      readonly id: string | undefined
    }
  | { readonly kind: 'other' }

/** Parses a frame. Returns undefined if it is not a JSON object. */
export function parseIncoming(text: string): Incoming | undefined {
  const frame = parse(quoteLargeIntegers(text))
  if (!isObject(frame)) return undefined
  const { op, topic, msg, id, result, values = null, status, level } = frame
  const name = typeof id === 'string' ? id : undefined
  const isOk = result !== false
  if (op === 'publish' && typeof topic === 'string' && msg !== undefined && isObject(msg))
    return { kind: 'message', topic, message: msg }
  if (op === 'status') return { kind: 'status', level: String(level), text: String(msg), id: name }
  if (name === undefined) return { kind: 'other' }
  if (op === 'service_response') return { kind: 'answer', id: name, isOk, values }
  if (op === 'action_feedback') return { kind: 'feedback', id: name, values }
  if (op === 'action_result') {
    const code = typeof status === 'number' ? status : undefined
    return { kind: 'result', id: name, status: code, isOk, values }
  }
  return { kind: 'other' }
}

/** Finds the topic of a frame that is too large to parse, at the beginning or the end of the frame. */
export function topicOfLarge(bytes: Buffer): string | undefined {
  const ends = [bytes.subarray(0, END_BYTES), bytes.subarray(-END_BYTES)]
  for (const end of ends) {
    const found = /"topic"\s?:\s?"([^"]{1,256})"/.exec(end.toString('latin1'))
    if (found !== null) return found[1]
  }
  return undefined
}

const END_BYTES = 512

/** Python may have written NaN and Infinity, which become null. */
function parse(text: string): unknown {
  return parseJson(text) ?? parseJson(withoutWordsForNumbers(text))
}

function withoutWordsForNumbers(text: string): string {
  const parts: string[] = []
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at)
    const start = quote < 0 ? text.length : quote
    parts.push(text.slice(at, start).replaceAll(/-?\b(?:NaN|Infinity)\b/g, 'null'))
    at = quote < 0 ? start : endOfString(text, quote) + 1
    parts.push(text.slice(start, at))
  }
  return parts.join('')
}
