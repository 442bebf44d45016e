// The contract of all places for downloads. Each adapter's test runs it.
import { describe, expect, test } from 'vitest'
import type { DownloadLease, DownloadLeaseLimits, DownloadLeases } from '../../../ports/download-leases.ts'

export interface PlacesContract {
  readonly name: string
  /** Opens the same places for two nodes. */
  open(limits: DownloadLeaseLimits): Promise<readonly [DownloadLeases, DownloadLeases]>
  /** Resolves once no place that was not kept since is held any more. */
  pass(heldMs: number): Promise<void>
}

const LONG_MS = 3_600_000
const SHORT_MS = 100

function limits(heldMs: number): DownloadLeaseLimits {
  return { readersMax: 2, streamsPerReaderMax: 2, heldMs }
}

let streams = 0
const place = (reader: string): DownloadLease => ({ reader, stream: `s${streams++}` })

export function placesContract({ name, open, pass }: PlacesContract): void {
  describe(`places for downloads: ${name}`, () => {
    test('as many readers as may be have one at a time, at whatever node', async () => {
      const [one, other] = await open(limits(LONG_MS))
      const a = place('a')
      expect(await one.acquire(a)).toBe('taken')
      expect(await other.acquire(place('b'))).toBe('taken')
      expect(await one.acquire(place('c'))).toBe('busy')
      expect(await other.acquire(place('c'))).toBe('busy')
      await one.release(a)
      expect(await other.acquire(place('c'))).toBe('taken')
      expect(await one.acquire(place('a'))).toBe('busy')
    })

    test('no more are taken when many come at once', async () => {
      const [one, other] = await open(limits(LONG_MS))
      const all = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? one : other).acquire(place(`r${i}`)))
      expect((await Promise.all(all)).filter((answer) => answer === 'taken')).toHaveLength(2)
    })

    test('a reader has so many streams at all nodes together, which are one download', async () => {
      const [one, other] = await open(limits(LONG_MS))
      const [first, second] = [place('a'), place('a')]
      expect(await one.acquire(first)).toBe('taken')
      expect(await other.acquire(second)).toBe('taken')
      expect(await other.acquire(place('a'))).toBe('reader')
      expect(await one.acquire(place('b'))).toBe('taken')
      // The place of the reader is free when both of its streams are.
      await one.release(first)
      expect(await one.acquire(place('c'))).toBe('busy')
      await one.release(second)
      await one.release(second)
      expect(await one.acquire(place('c'))).toBe('taken')
      expect(await one.acquire(place('d'))).toBe('busy')
    })

    test('a place that nobody kept is free, and is not had back', async () => {
      const [one, other] = await open(limits(SHORT_MS))
      const lost = place('a')
      await one.acquire(lost)
      await other.acquire(place('b'))
      await pass(SHORT_MS)
      expect(await other.renew([lost])).toEqual([false])
      const [c, d] = [place('c'), place('d')]
      expect([await one.acquire(c), await other.acquire(d)]).toEqual(['taken', 'taken'])
    })

    test('a place that was kept is held', async () => {
      const [one, other] = await open(limits(LONG_MS))
      const [a, b, stranger] = [place('a'), place('b'), place('z')]
      await one.acquire(a)
      await one.acquire(b)
      expect(await one.renew([a, stranger, b])).toEqual([true, false, true])
      expect(await other.acquire(place('c'))).toBe('busy')
    })
  })
}
