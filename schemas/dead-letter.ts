// Bodies of /dead-letters: messages that could not be taken, with their reason.
import { Type } from 'typebox'
import { choice, Instant } from './json-schema.ts'
import { PAGE_QUERY, pageOf } from './page.ts'

export const DeadLetterQuery = Type.Object(
  { ...PAGE_QUERY, device_id: Type.Optional(Type.String()) },
  { additionalProperties: false },
)
const DeadLetterBody = Type.Object(
  {
    id: Type.String(),
    device_id: Type.String(),
    topic: Type.String(),
    reason: Type.String(),
    detail: Type.String(),
    payload: Type.String({ description: 'The first bytes of the message' }),
    payload_encoding: choice(['utf8', 'base64']),
    payload_bytes: Type.Integer({ minimum: 0, description: 'Length of the whole message' }),
    received_at: Instant,
  },
  { title: 'DeadLetter' },
)
export const DeadLetterPage = pageOf(DeadLetterBody, 'DeadLetterPage')
