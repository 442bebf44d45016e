import { expect, test } from 'vitest'
import { Micros } from '../../../../schemas/ids.ts'
import { bundle, logContract, NOTHING, show } from './contract.ts'
import { MemoryLog } from './memory.ts'

logContract({
  name: 'memory',
  open: async (retention) => new MemoryLog(retention),
  restart: async (log) => {
    if (!(log instanceof MemoryLog)) throw new Error('not a memory log')
    return log.crash()
  },
})

test('a crashed log neither answers nor changes durable data', async () => {
  const log = new MemoryLog()
  await log.append([bundle(1, 'a')], Micros(1))
  const reader = log.reader([bundle(1, '').partition], NOTHING)
  const after = log.crash()
  let answered = false
  void log.append([bundle(1, 'b')], Micros(2)).then(() => {
    answered = true
  })
  expect(await reader.pull(10)).toBeUndefined()
  expect(show(await after.reader([bundle(1, '').partition], NOTHING).pull(100))).toEqual(['1=a'])
  expect(await after.append([bundle(1, 'c')], Micros(3))).toEqual([2])
  expect(answered).toBe(false)
})
