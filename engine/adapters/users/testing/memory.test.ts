import { usersContract } from './contract.ts'
import { MemoryUsers } from './memory.ts'

usersContract({
  name: 'memory',
  open: async () => new MemoryUsers(),
  restart: async (users) => {
    if (!(users instanceof MemoryUsers)) throw new Error('not memory users')
    return users.crash()
  },
  close: async () => undefined,
})
