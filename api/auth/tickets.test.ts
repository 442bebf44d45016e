import { describe, expect, test } from 'vitest'
import { MemoryTickets } from '../../engine/adapters/tickets/memory.ts'
import { LIMITS } from '../../engine/limits.ts'
import type { OpenTicket } from '../../engine/ports/tickets.ts'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import type { Authentication } from './authenticate.ts'
import { Tickets } from './tickets.ts'

const VOID: Authentication = { kind: 'refused', code: 'UNAUTHENTICATED', detail: {} }

function setUp() {
  const clock = new StandingTime(0)
  const open = new MemoryTickets(clock)
  const shown: string[] = []
  const node = () =>
    new Tickets(async (token) => {
      shown.push(token)
      return VOID
    }, open)
  const [one, other] = [node(), node()]
  const issue = async (owner: string, token = owner) => (await one.issue(owner, token)) ?? expect.fail('none')
  return { clock, shown, one, other, issue, open }
}

describe('a ticket', () => {
  test('a ticket stands for the token it was issued for, once, at any node', async () => {
    const { one, other, shown, issue } = setUp()
    const ticket = await issue('usr_a', 'token')
    await Promise.all([one.redeem(ticket), other.redeem(ticket)])
    expect(shown).toEqual(['token'])
    expect(await other.redeem(ticket)).toMatchObject({ kind: 'refused', code: 'UNAUTHENTICATED' })
    expect(await other.redeem('tkt_')).toMatchObject({ kind: 'refused', code: 'UNAUTHENTICATED' })
  })

  test('a ticket expires', async () => {
    const { other, clock, shown, issue } = setUp()
    const [early, late] = [await issue('usr_a', 'early'), await issue('usr_a', 'late')]
    clock.at = LIMITS.ticketMs - 1
    await other.redeem(early)
    clock.at = LIMITS.ticketMs
    expect(await other.redeem(late)).toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(shown).toEqual(['early'])
  })

  test('a ticket is refused while there are too many', async () => {
    const { one, open } = setUp()
    open.put = async () => false
    expect(await one.issue('usr_a', 'token')).toBeUndefined()
  })

  test('the token of a ticket cannot be read from the store', async () => {
    const { open, issue } = setUp()
    const kept: OpenTicket[] = []
    open.put = async (ticket) => kept.push(ticket) > 0
    const ticket = await issue('usr_a', 'canary')
    const text = kept.map((each) => `${each.id} ${each.owner} ${Buffer.from(each.sealed).toString('latin1')}`)
    expect(text).toHaveLength(1)
    for (const secret of ['canary', ticket, ticket.slice(4)]) expect(text.join()).not.toContain(secret)
  })
})
