import { expect, test } from 'vitest'
import type { Call } from '../recording.ts'
import { checkAudit } from './audit.ts'
import { read, recordingOf, textsOf, wrote } from './testing/recording.ts'

const named = (call: Call, requestId: string): Call => ({ ...call, requestId })

test('answered changes that are in the audit once are correct, whatever became of the others', () => {
  const refused = named(wrote('b', [3, 4], 1, { status: 412 }), 'req_2')
  const unanswered = named(wrote('c', [5, undefined]), 'req_3')
  const calls = [named(wrote('a', [1, 2], 1), 'req_1'), refused, unanswered, read([6, 7], { version: 1 })]
  expect(checkAudit(recordingOf({ calls, stored: { audited: ['req_1'] } }))).toEqual([])
  expect(checkAudit(recordingOf({ calls, stored: { audited: ['req_1', 'req_3'] } }))).toEqual([])
})

test('an answered change that is not in the audit is a violation, which may only be lateness', () => {
  const found = checkAudit(recordingOf({ calls: [named(wrote('a', [1, 2], 1), 'req_1')] }))
  expect(textsOf(found)).toEqual(['desire of user was answered at 2, and req_1 is not in the audit'])
  expect(found[0]?.isAbsence).toBe(true)
})

test('a change that is in the audit twice is a violation', () => {
  const found = checkAudit(recordingOf({ stored: { audited: ['req_1', 'req_2', 'req_1'] } }))
  expect(textsOf(found)).toEqual(['req_1 is in the audit 2 times'])
})
