import { ownershipContract } from './contract.ts'
import { MemoryOwners, MemoryOwnership } from './memory.ts'

ownershipContract({
  name: 'memory',
  open: async () => {
    const owners = new MemoryOwners()
    return [new MemoryOwnership(owners), new MemoryOwnership(owners)]
  },
})
