import { MemoryTickets } from './memory.ts'
import { ticketsContract } from './testing/contract.ts'

const clock = { at: 0, ticks: () => clock.at }

ticketsContract({
  name: 'memory',
  open: async (lifeMs) => {
    const tickets = new MemoryTickets(clock, lifeMs)
    return [tickets, tickets]
  },
  pass: async (lifeMs) => {
    clock.at += lifeMs
  },
})
