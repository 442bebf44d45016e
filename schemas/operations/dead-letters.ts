// /dead-letters: messages that could not be processed.
import {
  DeadLetterActionBody,
  DeadLetterActionQuery,
  DeadLetterBody,
  DeadLetterFilterBody,
  DeadLetterPage,
  DeadLetterParams,
  DeadLetterQuery,
  DeadLetterSummary,
  DeadLetterSummaryQuery,
} from '../dead-letter.ts'
import { API, type Operation } from '../operation.ts'

const PATH = `${API}/dead-letters` as const
const SHARED = { tag: 'telemetry', access: ['admin'], scope: 'none' } as const
const ONE = { ...SHARED, params: DeadLetterParams } as const
const MANY = {
  ...SHARED,
  method: 'POST',
  query: DeadLetterActionQuery,
  body: DeadLetterFilterBody,
  replies: { 200: DeadLetterActionBody },
  refusals: ['RATE_LIMIT_EXCEEDED'],
} as const

export const listDeadLetters = {
  ...SHARED,
  method: 'GET',
  path: PATH,
  operationId: 'listDeadLetters',
  summary: 'List messages that could not be processed, newest first',
  query: DeadLetterQuery,
  replies: { 200: DeadLetterPage },
} as const satisfies Operation

export const summarizeDeadLetters = {
  ...SHARED,
  method: 'GET',
  path: `${PATH}/summary`,
  operationId: 'summarizeDeadLetters',
  summary: 'Count the messages that could not be processed, by reason',
  query: DeadLetterSummaryQuery,
  replies: { 200: DeadLetterSummary },
} as const satisfies Operation

export const replayDeadLetter = {
  ...ONE,
  method: 'POST',
  path: `${PATH}/{letter_id}/replay`,
  operationId: 'replayDeadLetter',
  summary: 'Process a message once more',
  description:
    'It goes the way of every message, and counts once however often it is replayed. What it says of no time counts at the time of the replay. If it still cannot be processed, it becomes another dead letter.',
  replies: { 200: DeadLetterBody },
  refusals: ['NOT_FOUND', 'LETTER_NOT_REPLAYABLE'],
} as const satisfies Operation

export const discardDeadLetter = {
  ...ONE,
  method: 'DELETE',
  path: `${PATH}/{letter_id}`,
  operationId: 'discardDeadLetter',
  summary: 'Remove a message that could not be processed',
  replies: { 204: 'empty' },
  refusals: ['NOT_FOUND'],
} as const satisfies Operation

export const replayDeadLetters = {
  ...MANY,
  path: `${PATH}/replay`,
  operationId: 'replayDeadLetters',
  summary: 'Process messages once more, the oldest first',
} as const satisfies Operation

export const discardDeadLetters = {
  ...MANY,
  path: `${PATH}/discard`,
  operationId: 'discardDeadLetters',
  summary: 'Remove messages that could not be processed',
} as const satisfies Operation
