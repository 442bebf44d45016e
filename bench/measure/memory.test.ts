import { expect, test } from 'vitest'
import { parseResident, residentOfTree } from './memory.ts'

test('anonymous and mapped pages are counted separately', () => {
  const status =
    'Name:\tnode\nVmRSS:\t  700 kB\nRssAnon:\t  500 kB\nRssFile:\t  150 kB\nRssShmem:\t   50 kB\n'
  expect(parseResident(status)).toEqual({ anonBytes: 512_000, fileBytes: 204_800 })
})

test('this process has anonymous memory', () => {
  expect(residentOfTree(process.pid).root.anonBytes).toBeGreaterThan(1_000_000)
})
