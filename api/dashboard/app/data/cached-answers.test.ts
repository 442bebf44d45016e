import { describe, expect, test } from 'vitest'
import { type CachedAnswer, CachedAnswers } from './cached-answers.ts'

/** A service whose answers come when the test says so. */
function service({ entriesMax = 10, charsMax = 1000, isFixed = false } = {}) {
  const waiting: { readonly answer: (data: unknown) => void; readonly refuse: (error: string) => void }[] = []
  const cached = new CachedAnswers({ entriesMax, charsMax })
  const at = (key: string, operation = 'listViews') =>
    cached.at(key, {
      operation,
      isFixed,
      load: () => new Promise((answer, refuse) => waiting.push({ answer, refuse })),
    })
  const outdate = () => cached.outdate(['listViews'])
  const answers = async (nth: number, data: unknown) => {
    waiting[nth]?.answer(data)
    // The steps of the request are a handful of promises.
    for (let step = 0; step < 5; step++) await Promise.resolve()
  }
  return { at, outdate, answers, waiting }
}

const shown = (entry: CachedAnswer) => entry.answer.peek()

describe('answers that views share', () => {
  test('are asked for anew after a write while somebody uses them, though nothing draws them at that moment', async () => {
    const { at, outdate, answers, waiting } = service()
    const list = at('views')
    list.use()
    list.ask()
    await answers(0, ['before'])
    outdate()
    expect(shown(list)).toMatchObject({ data: ['before'], isLoading: true })
    expect(waiting).toHaveLength(2)
    await answers(1, ['before', 'written'])
    expect(shown(list)).toMatchObject({ data: ['before', 'written'], isLoading: false })
  })

  test('are asked for once more when the write ended before the first answer came', async () => {
    const { at, outdate, answers, waiting } = service()
    const list = at('views')
    list.use()
    list.ask()
    outdate()
    expect(waiting).toHaveLength(1)
    await answers(0, [])
    expect(waiting).toHaveLength(2)
    await answers(1, ['written'])
    expect(shown(list)).toMatchObject({ data: ['written'], isLoading: false })
  })

  test('stay used as long as one of their users is there', async () => {
    const { at, outdate, answers, waiting } = service()
    const list = at('views')
    const palette = list.use()
    list.use()
    list.ask()
    await answers(0, ['before'])
    palette()
    outdate()
    expect(shown(list).data).toEqual(['before'])
    expect(waiting).toHaveLength(2)
  })

  test('are emptied by a write when nobody uses them, and asked for by the next who does', async () => {
    const { at, outdate, answers, waiting } = service()
    const leave = at('views').use()
    at('views').ask()
    await answers(0, ['before'])
    leave()
    outdate()
    const again = at('views')
    expect(shown(again).data).toBeUndefined()
    expect(waiting).toHaveLength(1)
    again.use()
    again.ask()
    await answers(1, ['written'])
    expect(shown(again).data).toEqual(['written'])
  })

  test('are neither shown nor waited for after a write, if they were asked for before it', async () => {
    const { at, outdate, answers, waiting } = service()
    const leave = at('views').use()
    at('views').ask()
    leave()
    outdate()
    const again = at('views')
    again.use()
    again.ask()
    expect(waiting).toHaveLength(2)
    await answers(1, ['written'])
    await answers(0, ['before'])
    expect(shown(again)).toMatchObject({ data: ['written'], isLoading: false })
  })

  test('are left alone by a write that is about another operation, and when they never change', async () => {
    const { at, outdate, answers, waiting } = service()
    const other = at('devices', 'listDevices')
    other.use()
    other.ask()
    await answers(0, ['robot-1'])
    outdate()
    expect(waiting).toHaveLength(1)

    const versions = service({ isFixed: true })
    const fixed = versions.at('version 3')
    fixed.ask()
    await versions.answers(0, { speed: 1 })
    versions.outdate()
    expect(shown(fixed).data).toEqual({ speed: 1 })
    expect(fixed.isFinal).toBe(true)
  })

  test('are dropped, the oldest first, when there are too many, but never while they are used', () => {
    const { at } = service({ entriesMax: 3 })
    const used = at('used')
    used.use()
    const old = at('old')
    const later = at('later')
    at('newest')
    expect(at('later')).toBe(later)
    expect(at('used')).toBe(used)
    expect(at('old')).not.toBe(old)
  })

  test('are dropped when they are too long together', async () => {
    const { at, answers } = service({ charsMax: 20 })
    const long = at('long')
    long.ask()
    await answers(0, 'eighteen letters')
    const short = at('short')
    expect(at('long')).toBe(long)
    short.ask()
    await answers(1, 'more')
    at('next')
    expect(at('short')).not.toBe(short)
    expect(at('long')).toBe(long)
  })
})
