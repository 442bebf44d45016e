import { describe, expect, test } from 'vitest'
import { sharedRequest } from './shared-request.ts'

interface WaitingCall {
  readonly answer: (data: string) => void
  readonly refuse: (error: string) => void
}

/** Shows what a page would: whether it loads, what it has and what went wrong. `drawn` runs as an answer is drawn. */
function page(drawn: () => void = () => {}) {
  const waiting: WaitingCall[] = []
  const shown = { isLoading: false, data: '', error: '' }
  const show = (change: Partial<typeof shown>) => {
    Object.assign(shown, { isLoading: false }, change)
    drawn()
  }
  const request = sharedRequest<string>({
    load: () => new Promise((answer, refuse) => waiting.push({ answer, refuse })),
    starts: () => {
      shown.isLoading = true
    },
    succeeds: (data) => show({ data }),
    fails: (error) => show({ error: String(error) }),
  })
  return { request, waiting, shown }
}

describe('a request that is shared', () => {
  test('is sent once for all who ask while it is under way', async () => {
    const { request, waiting, shown } = page()
    const both = [request.ask(), request.ask()]
    expect(waiting).toHaveLength(1)
    waiting[0]?.answer('first')
    await Promise.all(both)
    expect(shown).toEqual({ isLoading: false, data: 'first', error: '' })
  })

  test.each(['answer', 'refuse'] as const)('is sent again by what its %s draws', async (outcome) => {
    let again: Promise<void> | undefined
    const { request, waiting, shown } = page(() => {
      again ??= request.ask()
    })
    const first = request.ask()
    waiting[0]?.[outcome]('first')
    await first
    expect(waiting).toHaveLength(2)
    waiting[1]?.answer('second')
    await again
    expect(shown).toMatchObject({ isLoading: false, data: 'second' })
  })

  test('is sent once more after a write, whose change the one under way may not have seen', async () => {
    const { request, waiting, shown } = page()
    const first = request.ask()
    const afterWrites = [request.askAnew(), request.askAnew()]
    waiting[0]?.answer('before the write')
    await first
    await Promise.resolve()
    expect(waiting).toHaveLength(2)
    waiting[1]?.answer('after the write')
    await Promise.all(afterWrites)
    expect(shown).toEqual({ isLoading: false, data: 'after the write', error: '' })
  })

  test('is sent after a write when none is under way', async () => {
    const { request, waiting } = page()
    const only = request.askAnew()
    waiting[0]?.answer('after the write')
    await only
    expect(waiting).toHaveLength(1)
  })
})
