import { expect, test } from 'vitest'
import type { JsonObject } from '../../../schemas/json.ts'
import { JoinedReports } from './joined-reports.ts'

test('one report is under way, and what comes meanwhile is put together', async () => {
  const reports: JsonObject[] = []
  const failures: unknown[] = []
  const pending: { resolve(): void; reject(error: Error): void }[] = []
  const state = new JoinedReports(
    (patch) => {
      reports.push(patch)
      return new Promise<void>((resolve, reject) => pending.push({ resolve, reject }))
    },
    (error) => failures.push(error),
  )
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  state.add({ led: 'on' })
  state.add({ arm: { x: 1, y: 1 } })
  state.add({ arm: { y: 2 }, led: null })
  expect(reports).toEqual([{ led: 'on' }])
  pending[0]?.reject(new Error('refused'))
  await settle()
  expect(reports).toEqual([{ led: 'on' }, { arm: { x: 1, y: 2 }, led: null }])
  expect(failures).toEqual([new Error('refused')])
  pending[1]?.resolve()
  await settle()
  state.add({ led: 'off' })
  expect(reports).toHaveLength(3)
})
