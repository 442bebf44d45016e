// Checks the contract with the real process: fewer requests per operation, over sockets.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OPERATIONS } from '../../schemas/operations/all.ts'
import { validRequests, wrongRequests } from '../contract/testing/requests.ts'
import { IN_SERVICE, openServiceWorld } from '../contract/testing/service-world.ts'
import { ServiceHarness } from './testing/service.ts'

const RUNS = { numRuns: 6, seed: 20_260_301 }
const harness = new ServiceHarness()
let world: Awaited<ReturnType<typeof openServiceWorld>>
beforeAll(async () => {
  world = await openServiceWorld(harness)
})
afterAll(() => harness.close())

describe.each(Object.values(OPERATIONS).map((operation) => [operation.operationId, operation] as const))(
  '%s',
  (_, operation) => {
    test('valid requests are answered as declared', async () => {
      await fc.assert(
        fc.asyncProperty(validRequests(operation, IN_SERVICE), async (request) => {
          const { status, text } = await world.send(request)
          expect(status, text).toBeLessThan(500)
        }),
        RUNS,
      )
    })

    test('invalid requests are refused', async () => {
      await fc.assert(
        fc.asyncProperty(wrongRequests(operation, IN_SERVICE), async (request) => {
          const { status, text } = await world.send(request)
          expect([4, text]).toEqual([Math.floor(status / 100), text])
        }),
        RUNS,
      )
    })
  },
)
