import { blobsContract } from './contract.ts'
import { MemoryBlobs } from './memory.ts'

blobsContract({ name: 'memory', open: async () => new MemoryBlobs(), close: async () => {} })
