import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { FakeClock } from '../http/fake-engine.ts'
import type { Authenticated } from './authenticate.ts'
import { Tickets } from './tickets.ts'

const VOID: Authenticated = { kind: 'refused', code: 'UNAUTHENTICATED', detail: {} }

function setUp() {
  const clock = new FakeClock(0)
  const shown: string[] = []
  const tickets = new Tickets(async (token) => {
    shown.push(token)
    return VOID
  }, clock)
  const issue = (owner: string, token = owner) => tickets.issue(owner, token) ?? expect.fail('too many')
  return { clock, shown, tickets, issue }
}

describe('a ticket', () => {
  test('is judged as the token it was issued for, once', async () => {
    const { tickets, shown, issue } = setUp()
    const ticket = issue('usr_a', 'token')
    await Promise.all([tickets.redeem(ticket), tickets.redeem(ticket)])
    expect(shown).toEqual(['token'])
    expect(await tickets.redeem(ticket)).toMatchObject({ kind: 'refused', code: 'UNAUTHENTICATED' })
  })

  test('is worth nothing after its time', async () => {
    const { tickets, clock, shown, issue } = setUp()
    const [early, late] = [issue('usr_a', 'early'), issue('usr_a', 'late')]
    clock.at = LIMITS.ticketMs - 1
    await tickets.redeem(early)
    clock.at = LIMITS.ticketMs
    expect(await tickets.redeem(late)).toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(shown).toEqual(['early'])
  })

  test('leaves room for the later ones of its owner, and takes nobody else’s', async () => {
    const { tickets, shown, issue } = setUp()
    const other = issue('usr_b', 'other')
    const own = Array.from({ length: LIMITS.ticketsPerUserMax + 1 }, (_, i) => issue('usr_a', `${i}`))
    for (const ticket of [...own, other]) await tickets.redeem(ticket)
    expect(shown).toEqual([...own.map((_, i) => `${i}`).slice(1), 'other'])
  })

  test('is refused while there are too many, and issued again when those have ended', () => {
    const { tickets, clock, issue } = setUp()
    for (let i = 0; i < LIMITS.ticketsMax; i++) issue(`usr_${Math.floor(i / LIMITS.ticketsPerUserMax)}`)
    expect(tickets.issue('usr_z', 'token')).toBeUndefined()
    clock.at = LIMITS.ticketMs
    issue('usr_z')
  })
})
