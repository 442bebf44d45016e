// Messages that no broker takes. A broker ends the connection for one, and the outbox would send it again over the next
// connection, for ever and before everything else. So such a message is refused at once.

const PAYLOAD_BYTES_MAX = 256 * 1024
const TOPIC_BYTES_MAX = 512
const TOPIC_LEVELS_MAX = 16
const FORBIDDEN = /[+#\0]/

/** Says what is wrong with a message; undefined if nothing is. */
export function unsendable(topic: string, payload: string): string | undefined {
  // A character has at most three bytes, and nearly all messages are far smaller.
  if (payload.length * 3 > PAYLOAD_BYTES_MAX) {
    const bytes = Buffer.byteLength(payload)
    if (bytes > PAYLOAD_BYTES_MAX)
      return `the message has ${bytes} bytes; at most ${PAYLOAD_BYTES_MAX} are allowed: send it in parts`
  }
  const levels = topic.split('/')
  if (FORBIDDEN.test(topic) || levels.includes('..'))
    return `a topic has no +, #, NUL or level named "..": ${JSON.stringify(topic)}`
  if (Buffer.byteLength(topic) > TOPIC_BYTES_MAX || levels.length > TOPIC_LEVELS_MAX)
    return `a topic has at most ${TOPIC_BYTES_MAX} bytes and ${TOPIC_LEVELS_MAX} levels: ${topic.slice(0, 64)}…`
  return undefined
}
