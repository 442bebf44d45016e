import { expect, test } from 'vitest'
import { OPERATIONS } from '../../schemas/operations/all.ts'
import { openHarness } from '../testing/rest.ts'

test('every operation is exported by its name and has a route', () => {
  const { routes } = openHarness()
  const names = Object.entries(OPERATIONS).map(([name, { operationId }]) => [name, operationId])
  expect(names.filter(([name, operationId]) => name !== operationId)).toEqual([])
  expect(routes.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(OPERATIONS).sort())
})
