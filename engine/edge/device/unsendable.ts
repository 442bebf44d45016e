// Messages that no broker takes. A broker ends the connection for one, and the outbox would send it again over the next
// connection, for ever and before everything else. So such a message is refused at once.
import { MQTT_LIMITS } from '../../../schemas/mqtt-limits.ts'

const { payloadBytesMax, topicBytesMax, topicLevelsMax } = MQTT_LIMITS
const FORBIDDEN = /[+#\0]/

/** Says what is wrong with a message; undefined if nothing is. */
export function unsendable(topic: string, payload: string): string | undefined {
  // A character has at most three bytes, and nearly all messages are far smaller.
  if (payload.length * 3 > payloadBytesMax) {
    const bytes = Buffer.byteLength(payload)
    if (bytes > payloadBytesMax)
      return `the message has ${bytes} bytes; at most ${payloadBytesMax} are allowed: send it in parts`
  }
  const levels = topic.split('/')
  if (FORBIDDEN.test(topic) || levels.includes('..'))
    return `a topic has no +, #, NUL or level named "..": ${JSON.stringify(topic)}`
  if (Buffer.byteLength(topic) > topicBytesMax || levels.length > topicLevelsMax)
    return `a topic has at most ${topicBytesMax} bytes and ${topicLevelsMax} levels: ${topic.slice(0, 64)}…`
  return undefined
}
