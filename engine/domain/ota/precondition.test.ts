import { expect, test } from 'vitest'
import type { Condition } from '../../../schemas/alert-condition.ts'
import { isMet } from './precondition.ts'

const VALUES: Readonly<Record<string, number | string>> = { battery: 50, mode: 'idle' }
const met = (condition: Condition) =>
  isMet(condition, { status: 'online', isConnected: true, newestOf: (metric) => VALUES[metric] })

const full: Condition = { kind: 'threshold', metric: 'battery', op: '>=', value: 40 }
const idle: Condition = { kind: 'threshold', metric: 'mode', op: '==', value: 'idle' }
const unknown: Condition = { kind: 'threshold', metric: 'nothing', op: '<', value: 1 }
const faulty: Condition = { kind: 'state', in: ['error'] }

test.each<[Condition, boolean]>([
  [full, true],
  [idle, true],
  [faulty, false],
  [{ kind: 'state', connected: true }, true],
  [{ all: [full, idle] }, true],
  [{ all: [full, faulty] }, false],
  [{ any: [faulty, idle] }, true],
  [{ not: faulty }, true],
  [unknown, false],
  // What is not known is no reason to begin.
  [{ not: unknown }, false],
  [{ any: [unknown, full] }, true],
  [{ all: [unknown, full] }, false],
  [{ not: { all: [unknown, faulty] } }, true],
])('%j is met: %s', (condition, expected) => {
  expect(met(condition)).toBe(expected)
})
