import { expect, test } from 'vitest'
import type { CommandPlan } from '../scenario/scenario.ts'
import { answer } from './answer.ts'

const PLAN: CommandPlan = { ackMs: 100, runMs: 400, failPercent: 0, ignorePercent: 0, result: { bay: 3 } }
const asked = (more: object = {}) => ({ seed: 1, device: 0, command: 'dock', nth: 0, ...more })
const plans = (more: Partial<CommandPlan> = {}) => new Map([['dock', { ...PLAN, ...more }]])

test('a command is acknowledged, carried out, and answered with its result', () => {
  expect(answer(plans(), asked())).toEqual({
    fate: 'completed',
    acks: [
      { afterMs: 100, ack: { status: 'acked' } },
      { afterMs: 500, ack: { status: 'completed', result: { bay: 3 } } },
    ],
  })
  expect(answer(plans({ ackMs: undefined }), asked()).acks.map(({ afterMs }) => afterMs)).toEqual([400])
})

test('an unknown command fails at once', () => {
  const { fate, acks } = answer(plans(), asked({ command: 'fly' }))
  expect(fate).toBe('unknown')
  expect(acks).toMatchObject([{ afterMs: 0, ack: { status: 'failed', error: { code: 'UNKNOWN_COMMAND' } } }])
})

test('the configured shares of commands fail or are ignored, and the seed decides which', () => {
  const fates = (seed: number) =>
    Array.from({ length: 2_000 }, (_, nth) => {
      return answer(plans({ failPercent: 20, ignorePercent: 10 }), asked({ seed, nth })).fate
    })
  const share = (fate: string) => fates(1).filter((each) => each === fate).length / 20
  expect(Math.abs(share('failed') - 20)).toBeLessThan(3)
  expect(Math.abs(share('ignored') - 10)).toBeLessThan(3)
  expect(fates(1)).toEqual(fates(1))
  expect(fates(2)).not.toEqual(fates(1))
  expect(answer(plans({ ignorePercent: 100 }), asked()).acks).toEqual([])
  expect(answer(plans({ failPercent: 100 }), asked()).acks.at(-1)?.ack['status']).toBe('failed')
})
