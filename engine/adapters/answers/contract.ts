// What every keeper of answers promises; each adapter's test runs it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { KeptAnswer, KeptAnswers } from '../../ports/answers.ts'

export interface AnswersContract {
  readonly name: string
  open(): Promise<KeptAnswers>
  /** The same answers after the process ended; left out where nothing outlives it. */
  restart?(answers: KeptAnswers): Promise<KeptAnswers>
  close(answers: KeptAnswers): Promise<void>
}

const at = Millis
function kept(id: string, keptUntil: number, size = 3): KeptAnswer {
  return { id, fingerprint: `print of ${id}`, keptUntil: at(keptUntil), sealed: new Uint8Array(size).fill(7) }
}

export function answersContract({ name, open, restart, close }: AnswersContract): void {
  describe(`kept answers: ${name}`, () => {
    let answers: KeptAnswers
    beforeEach(async () => {
      answers = await open()
    })
    afterEach(() => close(answers))

    test('are found until their time is over', async () => {
      await answers.put(kept('a', 100), at(1))
      expect(answers.get('a', at(99))).toMatchObject({ id: 'a', fingerprint: 'print of a', keptUntil: 100 })
      expect([...(answers.get('a', at(99))?.sealed ?? [])]).toEqual([7, 7, 7])
      expect(answers.get('a', at(100))).toBeUndefined()
      expect(answers.get('b', at(1))).toBeUndefined()
    })

    test('a later one of the same id takes the place of the earlier', async () => {
      await answers.put(kept('a', 100), at(1))
      await answers.put(kept('b', 150), at(1))
      await answers.put(kept('a', 200), at(100))
      expect(answers.get('a', at(199))?.keptUntil).toBe(200)
      expect(answers.get('b', at(149))?.keptUntil).toBe(150)
    })

    test('there is room until as many bytes are kept as may be, and again when their time is over', async () => {
      const size = LIMITS.keptAnswersBytesMax / 4
      for (const [index, id] of ['a', 'b', 'c'].entries())
        await answers.put(kept(id, 100 + index, size), at(1))
      expect(answers.hasRoom(at(1))).toBe(true)
      await answers.put(kept('d', 103, size), at(1))
      expect([answers.hasRoom(at(99)), answers.hasRoom(at(100))]).toEqual([false, true])
      await answers.put(kept('e', 300), at(102))
      expect(answers.get('d', at(102))?.id).toBe('d')
    }, 20_000)

    test.skipIf(restart === undefined)('outlive the process', async () => {
      await answers.put(kept('b', 200), at(1))
      await answers.put(kept('a', 300), at(2))
      answers = (await restart?.(answers)) ?? answers
      expect([answers.get('a', at(299))?.id, answers.get('b', at(199))?.id]).toEqual(['a', 'b'])
      expect(answers.get('b', at(200))).toBeUndefined()
      await answers.put(kept('c', 400), at(250))
      answers = (await restart?.(answers)) ?? answers
      // What is over is gone, not hidden.
      expect(answers.get('b', at(0))).toBeUndefined()
      expect(answers.get('a', at(0))?.id).toBe('a')
    })
  })
}
