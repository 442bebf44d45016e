// Bodies of /dead-letters: messages that could not be processed, with the reason.
import { type Static, Type } from 'typebox'
import { choice, closed, Instant, instantText, object } from './json-schema.ts'
import { PAGE_QUERY, pageOf } from './page.ts'

const Reason = Type.String({ maxLength: 64, examples: ['MALFORMED_STATUS'] })
export const DeadLetterQuery = closed({
  ...PAGE_QUERY,
  device_id: Type.Optional(Type.String()),
  reason: Type.Optional(Reason),
})
export const DeadLetterBody = object('DeadLetter', {
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
  replayable: Type.Boolean({
    description: 'False if only a part of the message is kept, or its topic is not known.',
  }),
})
export const DeadLetterPage = pageOf(DeadLetterBody, 'DeadLetterPage')

export const DeadLetterParams = Type.Object({
  letter_id: Type.String({ maxLength: 64, examples: ['dl_12_4711_0'] }),
})
export const DeadLetterSummaryQuery = closed({ device_id: Type.Optional(Type.String()) })
export const DeadLetterSummary = object('DeadLetterSummary', 'The most frequent reason first.', {
  total: Type.Integer({ minimum: 0, examples: [3] }),
  data: Type.Array(
    object('DeadLetterReason', {
      reason: Reason,
      count: Type.Integer({ minimum: 1, examples: [3] }),
      devices: Type.Integer({ minimum: 1, examples: [2] }),
      oldest_at: Instant,
      newest_at: Instant,
    }),
  ),
})

export const DeadLetterFilterBody = Type.Object(
  {
    reason: Type.Optional(Reason),
    device_id: Type.Optional(Type.String({ maxLength: 64, examples: ['robot-7'] })),
    before: Type.Optional(instantText('exclusive')),
  },
  {
    title: 'DeadLetterFilter',
    additionalProperties: false,
    description: 'All fields must fit. Without any field all dead letters are meant.',
    examples: [{ reason: 'MALFORMED_STATUS' }],
  },
)
export type DeadLetterFilterBody = Static<typeof DeadLetterFilterBody>
export const DeadLetterActionQuery = closed({
  dry_run: Type.Optional(Type.Boolean({ description: 'Only count.' })),
})
export const DeadLetterActionBody = object('DeadLetterAction', {
  dry_run: Type.Boolean(),
  total: Type.Integer({ minimum: 0, description: 'Dead letters that fit.' }),
  done: Type.Integer({ minimum: 0, description: 'Replayed or discarded; of a dry run: that would be.' }),
  skipped: Type.Integer({ minimum: 0, description: 'Dead letters that cannot be replayed.' }),
})
