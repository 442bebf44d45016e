// /dead-letters: messages that could not be processed.
import { DeadLetterPage, DeadLetterQuery } from '../dead-letter.ts'
import { API, type Operation } from '../operation.ts'

export const listDeadLetters = {
  method: 'GET',
  path: `${API}/dead-letters`,
  operationId: 'listDeadLetters',
  summary: 'List messages that could not be processed, newest first',
  tag: 'telemetry',
  access: ['admin'],
  scope: 'none',
  query: DeadLetterQuery,
  replies: { 200: DeadLetterPage },
} as const satisfies Operation
