import { meshContract } from './contract.ts'
import { MemoryMesh, MemoryNet } from './memory.ts'

meshContract({
  name: 'memory',
  open: async () => {
    const net = new MemoryNet()
    return [new MemoryMesh(net, 'a'), new MemoryMesh(net, 'b')]
  },
})
