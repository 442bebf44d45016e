import { placesContract } from './contract.ts'
import { MemoryDownloadLeases } from './memory.ts'

const clock = { at: 0, ticks: () => clock.at }

placesContract({
  name: 'memory',
  open: async (limits) => {
    const places = new MemoryDownloadLeases(clock, limits)
    return [places, places]
  },
  pass: async (heldMs) => {
    clock.at += heldMs
  },
})
