// The contract of all open tickets. Each adapter's test runs it.
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../limits.ts'
import type { OpenTicket, OpenTickets } from '../../../ports/tickets.ts'

export interface TicketsContract {
  readonly name: string
  /** Opens the same tickets for two nodes. */
  open(lifeMs?: number): Promise<readonly [OpenTickets, OpenTickets]>
  /** Resolves when tickets with this lifetime have expired. */
  pass(lifeMs: number): Promise<void>
}

const LIFE_MS = 50

function ticket(id: string, owner = 'usr_a'): OpenTicket {
  return { id, owner, sealed: new Uint8Array([0, 255, id.length]) }
}

export function ticketsContract({ name, open, pass }: TicketsContract): void {
  describe(`open tickets: ${name}`, () => {
    test('a ticket can be redeemed once, at any node', async () => {
      const [one, other] = await open()
      expect(await one.put(ticket('a'))).toBe(true)
      expect(await one.take('b')).toBeUndefined()
      const taken = await Promise.all([one, other, one, other].map((tickets) => tickets.take('a')))
      expect(taken.filter((sealed) => sealed !== undefined).map((sealed) => [...sealed])).toEqual([
        [0, 255, 1],
      ])
    })

    test('a ticket expires', async () => {
      const [one, other] = await open(LIFE_MS)
      await one.put(ticket('a'))
      await pass(LIFE_MS)
      expect([await other.take('a'), await one.take('a')]).toEqual([undefined, undefined])
    })

    test('a new ticket replaces the oldest open one of its owner beyond a bound', async () => {
      const [one, other] = await open()
      await one.put(ticket('other', 'usr_b'))
      for (let i = 0; i < LIMITS.ticketsPerUserMax; i++) await one.put(ticket(`t${i}`))
      await other.take('t5')
      await other.put(ticket('late'))
      expect(await one.take('t0')).toBeDefined()
      await other.put(ticket('later'))
      await other.put(ticket('latest'))
      expect(await one.take('t1')).toBeUndefined()
      for (const id of ['t2', 'late', 'later', 'latest', 'other']) expect(await one.take(id)).toBeDefined()
    })

    test('open tickets of all owners are bounded, and redeemed ones leave room', async () => {
      const [one, other] = await open()
      for (let i = 0; i < LIMITS.ticketsMax; i += LIMITS.ticketsPerUserMax) {
        const own = Array.from({ length: LIMITS.ticketsPerUserMax }, (_, n) => ticket(`${i + n}`, `usr_${i}`))
        expect(await Promise.all(own.map((each) => one.put(each)))).not.toContain(false)
      }
      expect(await other.put(ticket('more', 'usr_z'))).toBe(false)
      expect(await other.take('more')).toBeUndefined()
      await other.take('7')
      expect(await other.put(ticket('more', 'usr_z'))).toBe(true)
    })
  })
}
