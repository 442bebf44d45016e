import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { IdempotencyStore } from '../../ports/idempotency.ts'
import { LmdbEnv } from '../lmdb/lmdb-env.ts'
import { ANSWER_TABLES, openLmdbAnswers } from './lmdb.ts'
import { answersContract, SMALL_ROOM } from './testing/contract.ts'

const root = mkdtempSync(join(tmpdir(), 'fleet-answers-'))
const envs = new Map<IdempotencyStore, { env: LmdbEnv; path: string }>()
let count = 0
afterAll(() => rmSync(root, { recursive: true, force: true }))

function open(path = join(root, `${count++}.mdb`)): IdempotencyStore {
  const env = new LmdbEnv({ path, durability: 'process', tables: ANSWER_TABLES })
  const answers = openLmdbAnswers(env, SMALL_ROOM)
  envs.set(answers, { env, path })
  return answers
}

answersContract({
  name: 'lmdb',
  open: async () => open(),
  restart: async (answers) => {
    await envs.get(answers)?.env.close()
    return open(envs.get(answers)?.path)
  },
  close: async (answers) => envs.get(answers)?.env.close(),
})
