import { answersContract } from './contract.ts'
import { MemoryAnswers } from './memory.ts'

answersContract({ name: 'memory', open: async () => new MemoryAnswers(), close: async () => {} })
