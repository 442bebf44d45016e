import { ratesContract } from './contract.ts'
import { MemoryRates } from './memory.ts'

ratesContract({
  name: 'memory',
  open: async () => {
    const rates = new MemoryRates({ ticks: () => 0 })
    return [rates, rates]
  },
})
