import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LIMITS } from '../../limits.ts'
import { PartialAnswer, partsOf } from './answer-parts.ts'
import type { Outcome } from './responder.ts'

const long = Uint8Array.from({ length: 3 * LIMITS.meshPartBytes + 1 }, (_, i) => i % 253)

function arrive(parts: readonly Uint8Array[]): Outcome | 'torn' | undefined {
  const arriving = new PartialAnswer()
  let outcome: Outcome | 'torn' | undefined
  for (const part of parts) {
    expect(outcome).toBeUndefined()
    outcome = arriving.add(part)
  }
  return outcome
}

test('every outcome survives splitting and joining', () => {
  const outcomes: readonly Outcome[] = [
    { kind: 'closing' },
    { kind: 'busy' },
    { kind: 'failed', message: 'süß' },
    ...[0, 1, LIMITS.meshPartBytes, LIMITS.meshPartBytes + 1].map(
      (length) => ({ kind: 'answered', answer: long.subarray(0, length) }) as const,
    ),
  ]
  for (const outcome of outcomes) {
    const arrived = arrive(partsOf(outcome))
    if (arrived === undefined || arrived === 'torn' || arrived.kind !== 'answered')
      expect(arrived).toEqual(outcome)
    else expect(outcome.kind === 'answered' && Buffer.compare(arrived.answer, outcome.answer)).toBe(0)
  }
})

test('an answer with a missing, repeated or malformed part is torn', () => {
  const [first, second, third] = partsOf({ kind: 'answered', answer: long })
  if (first === undefined || second === undefined || third === undefined) throw new Error('three at least')
  expect(new PartialAnswer().add(second)).toBe('torn')
  expect(arrive([first, third])).toBe('torn')
  expect(arrive([first, first])).toBe('torn')
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
      expect(() => new PartialAnswer().add(bytes)).not.toThrow()
    }),
  )
  expect(new PartialAnswer().add(Uint8Array.from([99, 0, 0, 0, 0]))).toBe('torn')
})
