// The contract of all stored answers. Each adapter's test runs it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Millis } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { IdempotencyStore, StoredAnswer } from '../../../ports/idempotency.ts'
import type { AnswerBounds } from '../answer-index.ts'

export interface AnswersContract {
  readonly name: string
  /** Opens a store with room for `SMALL_ROOM`. */
  open(): Promise<IdempotencyStore>
  /** Reopens the same answers after a restart. Left out if nothing survives one. */
  restart?(answers: IdempotencyStore): Promise<IdempotencyStore>
  close(answers: IdempotencyStore): Promise<void>
}

/** Sizes are large enough that the overhead per answer makes no difference. */
export const SMALL_ROOM: AnswerBounds = { bytesMax: 65_536, ownerMax: 3, ownerBytesMax: 32_768 }

const at = Millis
/** An answer that is given no owner has one of its own. */
function kept(id: string, keptUntil: number, { size = 3, owner = `owner of ${id}` } = {}): StoredAnswer {
  const sealed = new Uint8Array(size).fill(7)
  return { id, owner, fingerprint: `print of ${id}`, keptUntil: at(keptUntil), sealed }
}
const key = (id: string, owner = `owner of ${id}`) => ({ id, owner })

export function answersContract({ name, open, restart, close }: AnswersContract): void {
  describe(`kept answers: ${name}`, () => {
    let answers: IdempotencyStore
    beforeEach(async () => {
      answers = await open()
    })
    afterEach(() => close(answers))

    const find = async (id: string, now: number) => {
      const found = await answers.find(key(id), at(now))
      return found.kind === 'kept' ? found.answer : undefined
    }

    test('stored answers are found until they expire', async () => {
      await answers.put(kept('a', 100), at(1))
      expect(await find('a', 99)).toMatchObject({ id: 'a', fingerprint: 'print of a', keptUntil: 100 })
      expect([...((await find('a', 99))?.sealed ?? [])]).toEqual([7, 7, 7])
      expect(await answers.begin(key('a'), at(99))).toMatchObject({ kind: 'kept', answer: { id: 'a' } })
      expect(await answers.find(key('a'), at(100))).toEqual({ kind: 'none' })
      expect(await answers.find(key('b'), at(1))).toEqual({ kind: 'none' })
    })

    test('a later answer with the same id replaces the earlier one', async () => {
      await answers.put(kept('a', 100), at(1))
      await answers.put(kept('b', 150), at(1))
      await answers.put(kept('a', 200), at(100))
      expect((await find('a', 199))?.keptUntil).toBe(200)
      expect((await find('b', 149))?.keptUntil).toBe(150)
    })

    test('answers are stored up to a total size, and again after others expire', async () => {
      const size = SMALL_ROOM.bytesMax / 4
      const room = async (now: number) => (await answers.find(key('z'), at(now))).kind
      await answers.put(kept('a', 90, { size }), at(1))
      for (const [index, id] of ['a', 'b', 'c'].entries())
        await answers.put(kept(id, 100 + index, { size }), at(1))
      expect(await room(1)).toBe('none')
      await answers.put(kept('d', 103, { size }), at(1))
      expect([await room(99), (await answers.begin(key('z'), at(99))).kind]).toEqual(['full', 'full'])
      expect(await room(100)).toBe('none')
      await answers.put(kept('e', 300), at(102))
      expect((await find('d', 102))?.id).toBe('d')
    })

    describe('a caller whose share is full', () => {
      const day = LIMITS.idempotencyKeyMs
      const later = LIMITS.keptAnswerMsMin
      const own = (id: string, now: number, size = 3) =>
        answers.put(kept(id, now + day, { size, owner: 'busy' }), at(now))
      const room = async (owner: string, now: number) => [
        (await answers.find(key('new', owner), at(now))).kind,
        (await answers.begin(key(`new ${owner} ${now}`, owner), at(now))).kind,
      ]

      test('has no room until the oldest answer of their own is old enough; others have', async () => {
        for (const [now, id] of ['a', 'b', 'c'].entries()) await own(id, now)
        expect(await room('busy', 3)).toEqual(['full', 'full'])
        expect(await room('other', 3)).toEqual(['none', 'begun'])
        expect((await answers.find(key('a', 'busy'), at(3))).kind).toBe('kept')
        expect(await room('busy', later - 1)).toEqual(['full', 'full'])
        expect(await room('busy', later)).toEqual(['none', 'begun'])
      })

      test('loses their own oldest answer and nobody else’s', async () => {
        await answers.put(kept('others', day), at(0))
        for (const [now, id] of ['a', 'b', 'c'].entries()) await own(id, now + 1)
        await own('d', later + 10)
        const kinds = async (...ids: string[]) =>
          Promise.all(ids.map(async (id) => (await answers.find(key(id, 'busy'), at(later + 11))).kind))
        expect(await kinds('others', 'a', 'b', 'c', 'd')).toEqual(['kept', 'none', 'kept', 'kept', 'kept'])
        // The same answer again takes no more room.
        await own('d', later + 12)
        expect(await kinds('b', 'c', 'd')).toEqual(['kept', 'kept', 'kept'])
      })

      test('is judged by bytes, too, and has room again when answers expire', async () => {
        const half = SMALL_ROOM.ownerBytesMax / 2
        await own('a', 0, half)
        expect(await room('busy', 1)).toEqual(['none', 'begun'])
        await own('b', 1, half)
        expect(await room('busy', 2)).toEqual(['full', 'full'])
        await own('c', later + 2, half)
        expect((await answers.find(key('a', 'busy'), at(later + 3))).kind).toBe('none')
        expect(await room('busy', later + 2 + day)).toEqual(['none', 'begun'])
        await answers.put(kept('d', 2 * day + later + 3, { owner: 'busy' }), at(day + later + 3))
        expect(await room('busy', day + later + 3)).toEqual(['none', 'begun'])
      })
    })

    test('a request is in progress at one caller at a time', async () => {
      const begun = await answers.begin(key('a'), at(1))
      expect(begun).toEqual({ kind: 'begun', until: 1 + LIMITS.answerBegunMs })
      expect(await answers.begin(key('a'), at(2))).toEqual({ kind: 'running' })
      expect(await answers.find(key('a'), at(2))).toEqual({ kind: 'none' })
      expect(await answers.begin(key('b'), at(2))).toMatchObject({ kind: 'begun' })
      await answers.put(kept('a', 100), at(3))
      expect(await answers.begin(key('a'), at(4))).toMatchObject({ kind: 'kept' })
      expect(await answers.begin(key('a'), at(100))).toMatchObject({ kind: 'begun' })
    })

    test('a request may begin again after its caller gave it up or its time is over', async () => {
      const [first, second] = [at(1 + LIMITS.answerBegunMs), at(5 + LIMITS.answerBegunMs)]
      await answers.begin(key('a'), at(1))
      await answers.abandon('a', first)
      expect(await answers.begin(key('a'), at(5))).toEqual({ kind: 'begun', until: second })
      await answers.abandon('a', first)
      expect(await answers.begin(key('a'), at(second - 1))).toEqual({ kind: 'running' })
      expect(await answers.begin(key('a'), second)).toMatchObject({ kind: 'begun' })
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
      for (const id of ['x', 'y', 'z'])
        await answers.put(kept(id, 251 + LIMITS.idempotencyKeyMs, { owner: 'busy' }), at(251))
      answers = (await restart?.(answers)) ?? answers
      expect((await answers.find(key('new', 'busy'), at(252))).kind).toBe('full')
    })
  })
}
