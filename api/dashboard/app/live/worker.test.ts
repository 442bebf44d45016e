import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { FromWorker, ToWorker } from './messages.ts'

/** What the worker finds in its global scope, and what it did there. */
const said: string[] = []
const sockets: FakeSocket[] = []
let tell: (message: ToWorker) => void = () => undefined

class FakeSocket {
  static readonly OPEN = 1
  readyState = 0
  readonly sent: string[] = []
  onopen?: () => void
  onclose?: (event: { readonly code: number }) => void

  constructor() {
    sockets.push(this)
  }

  send(text: string): void {
    this.sent.push(text)
  }

  opens(): void {
    this.readyState = FakeSocket.OPEN
    this.onopen?.()
  }

  closes(code: number): void {
    this.readyState = 3
    this.onclose?.({ code })
  }
}

beforeEach(async () => {
  vi.useFakeTimers()
  vi.stubGlobal('WebSocket', FakeSocket)
  vi.stubGlobal('postMessage', ({ kind }: FromWorker) => said.push(kind))
  vi.stubGlobal('addEventListener', (_: string, hear: (event: { readonly data: ToWorker }) => void) => {
    tell = (data) => hear({ data })
  })
  await import('./worker.ts')
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

test('a token that cannot be had at once is asked for again, until there is one', () => {
  tell({ kind: 'token', token: 'first' })
  tell({ kind: 'open', url: 'ws://127.0.0.1/ws' })
  sockets[0]?.opens()
  // The token has ended, and the service cannot give another one: the page says nothing.
  sockets[0]?.closes(4401)
  vi.advanceTimersByTime(120_000)
  const askedTimes = said.filter((kind) => kind === 'token-wanted').length
  expect(askedTimes).toBeGreaterThan(3)
  expect(askedTimes).toBeLessThan(200)
  expect(sockets).toHaveLength(1)

  // It is used at once, not after the pause before the next question.
  tell({ kind: 'token', token: 'second' })
  sockets[1]?.opens()
  expect(sockets[1]?.sent).toEqual([JSON.stringify({ type: 'auth', token: 'second' })])
  vi.advanceTimersByTime(1000)
  expect(sockets).toHaveLength(2)
})
