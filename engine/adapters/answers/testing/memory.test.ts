import { answersContract, SMALL_ROOM } from './contract.ts'
import { MemoryAnswers } from './memory.ts'

answersContract({ name: 'memory', open: async () => new MemoryAnswers(SMALL_ROOM), close: async () => {} })
