import { ANSWERS_BYTES, answersContract } from './contract.ts'
import { MemoryAnswers } from './memory.ts'

answersContract({ name: 'memory', open: async () => new MemoryAnswers(ANSWERS_BYTES), close: async () => {} })
