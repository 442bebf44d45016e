// Bodies of /dead-letters: messages that could not be processed, with the reason.
import { Type } from 'typebox'
import { choice, Instant } from './json-schema.ts'
import { PAGE_QUERY, pageOf } from './page.ts'

export const DeadLetterQuery = Type.Object(
  { ...PAGE_QUERY, device_id: Type.Optional(Type.String()) },
  { additionalProperties: false },
)
const DeadLetterBody = Type.Object(
  {
    id: Type.String({ examples: ['12-4711-0'] }),
    device_id: Type.String({ examples: ['robot-7'] }),
    topic: Type.String({ examples: ['fleet/robot-7/status'] }),
    reason: Type.String({ examples: ['MALFORMED_STATUS'] }),
    detail: Type.String({ examples: ['the payload is not JSON'] }),
    advice: Type.String({
      description: 'What to do about it.',
      examples: ['status says online or offline'],
    }),
    payload: Type.String({ description: 'The first bytes of the message.', examples: ['{"status":'] }),
    payload_encoding: choice(['utf8', 'base64']),
    payload_bytes: Type.Integer({ minimum: 0, examples: [10], description: 'Length of the whole message.' }),
    received_at: Instant,
  },
  { title: 'DeadLetter' },
)
export const DeadLetterPage = pageOf(DeadLetterBody, 'DeadLetterPage')
