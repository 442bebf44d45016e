// The contract of all stored answers. Each adapter's test runs it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Millis } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { KeptAnswer, KeptAnswers } from '../../../ports/answers.ts'

export interface AnswersContract {
  readonly name: string
  /** Opens a store with room for `ANSWERS_BYTES`. */
  open(): Promise<KeptAnswers>
  /** Reopens the same answers after a restart. Left out if nothing survives one. */
  restart?(answers: KeptAnswers): Promise<KeptAnswers>
  close(answers: KeptAnswers): Promise<void>
}

/** Large enough that the overhead per answer makes no difference. */
export const ANSWERS_BYTES = 65_536

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

    const find = async (id: string, now: number) => {
      const found = await answers.find(id, at(now))
      return found.kind === 'kept' ? found.answer : undefined
    }

    test('stored answers are found until they expire', async () => {
      await answers.put(kept('a', 100), at(1))
      expect(await find('a', 99)).toMatchObject({ id: 'a', fingerprint: 'print of a', keptUntil: 100 })
      expect([...((await find('a', 99))?.sealed ?? [])]).toEqual([7, 7, 7])
      expect(await answers.begin('a', at(99))).toMatchObject({ kind: 'kept', answer: { id: 'a' } })
      expect(await answers.find('a', at(100))).toEqual({ kind: 'none' })
      expect(await answers.find('b', at(1))).toEqual({ kind: 'none' })
    })

    test('a later answer with the same id replaces the earlier one', async () => {
      await answers.put(kept('a', 100), at(1))
      await answers.put(kept('b', 150), at(1))
      await answers.put(kept('a', 200), at(100))
      expect((await find('a', 199))?.keptUntil).toBe(200)
      expect((await find('b', 149))?.keptUntil).toBe(150)
    })

    test('answers are stored up to a total size, and again after others expire', async () => {
      const size = ANSWERS_BYTES / 4
      const room = async (now: number) => (await answers.find('z', at(now))).kind
      await answers.put(kept('a', 90, size), at(1))
      for (const [index, id] of ['a', 'b', 'c'].entries())
        await answers.put(kept(id, 100 + index, size), at(1))
      expect(await room(1)).toBe('none')
      await answers.put(kept('d', 103, size), at(1))
      expect([await room(99), (await answers.begin('z', at(99))).kind]).toEqual(['full', 'full'])
      expect(await room(100)).toBe('none')
      await answers.put(kept('e', 300), at(102))
      expect((await find('d', 102))?.id).toBe('d')
    })

    test('a request is in progress at one caller at a time', async () => {
      const begun = await answers.begin('a', at(1))
      expect(begun).toEqual({ kind: 'begun', until: 1 + LIMITS.answerBegunMs })
      expect(await answers.begin('a', at(2))).toEqual({ kind: 'running' })
      expect(await answers.find('a', at(2))).toEqual({ kind: 'none' })
      expect(await answers.begin('b', at(2))).toMatchObject({ kind: 'begun' })
      await answers.put(kept('a', 100), at(3))
      expect(await answers.begin('a', at(4))).toMatchObject({ kind: 'kept' })
      expect(await answers.begin('a', at(100))).toMatchObject({ kind: 'begun' })
    })

    test('a request may begin again after its caller gave it up or its time is over', async () => {
      const [first, second] = [at(1 + LIMITS.answerBegunMs), at(5 + LIMITS.answerBegunMs)]
      await answers.begin('a', at(1))
      await answers.giveUp('a', first)
      expect(await answers.begin('a', at(5))).toEqual({ kind: 'begun', until: second })
      await answers.giveUp('a', first)
      expect(await answers.begin('a', at(second - 1))).toEqual({ kind: 'running' })
      expect(await answers.begin('a', second)).toMatchObject({ kind: 'begun' })
    })

    test.skipIf(restart === undefined)('stored answers survive a restart', async () => {
      await answers.put(kept('b', 200), at(1))
      await answers.put(kept('a', 300), at(2))
      answers = (await restart?.(answers)) ?? answers
      expect([(await find('a', 299))?.id, (await find('b', 199))?.id]).toEqual(['a', 'b'])
      expect(await find('b', 200)).toBeUndefined()
      await answers.put(kept('c', 400), at(250))
      answers = (await restart?.(answers)) ?? answers
      // Expired answers are removed, not just hidden.
      expect(await find('b', 0)).toBeUndefined()
      expect((await find('a', 0))?.id).toBe('a')
    })
  })
}
