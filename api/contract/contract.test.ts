// The service conforms to its OpenAPI document: 200 valid and 80 invalid requests per operation get a declared answer.
// The harness checks status, schema and headers of each, and fails on undeclared fields. A failure prints the seed and the
// path for fc.assert.

import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Operation } from '../../schemas/operation.ts'
import { OPERATIONS } from '../../schemas/operations/all.ts'
import { type RestAnswer, SECRET } from '../testing/rest.ts'
import { validRequests, wrongRequests } from './testing/requests.ts'
import { openWorld, type World } from './testing/world.ts'

const SEED = 20_260_301
const VALID = { numRuns: 200, seed: SEED }
const INVALID = { numRuns: 80, seed: SEED }
/** The world is reset after this many valid requests. Creating it takes longer than sending them. */
const RESTORED_EVERY = 4
/** These succeed only while a rollout is in progress, which would change this world by itself. They succeed in
 *  `api/routes/deployments.test.ts`. */
const NEEDS_ROLLOUT: ReadonlySet<string> = new Set([
  ...['getDeployment', 'listDeploymentDevices', 'pauseDeployment', 'resumeDeployment', 'approveDeployment'],
  ...[
    'cancelDeployment',
    'retryDeploymentDevice',
    'cancelDeploymentDevice',
    'unblockFirmware',
    'rollBackDevice',
  ],
])
const operations = Object.values(OPERATIONS).map((operation) => [operation.operationId, operation] as const)

describe.each(operations)('%s', (_, operation) => {
  let world: World
  beforeAll(async () => {
    world = await openWorld()
  })

  test('valid requests are answered as declared, and some succeed', async () => {
    const { known, send, restore } = world
    const statuses = new Map<number, number>()
    let sent = 0
    await fc.assert(
      fc.asyncProperty(validRequests(operation, known), async (request) => {
        // Parquet is written only by the real telemetry adapter, not by the one in memory.
        fc.pre(!request.url.includes('format=parquet'))
        if (sent++ % RESTORED_EVERY === 0) await restore()
        const answer = await send(request)
        expect(answer.status, answer.text).toBeLessThan(500)
        expectNoSecret(operation, answer)
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      }),
      VALID,
    )
    if (NEEDS_ROLLOUT.has(operation.operationId)) return
    expect(
      [...statuses.keys()].some((status) => status < 300),
      `${[...statuses]}`,
    ).toBe(true)
  })

  test('invalid requests are refused with a problem that says why, and change nothing', async () => {
    const { known, send, restore, state } = world
    await restore()
    const before = await state()
    await fc.assert(
      fc.asyncProperty(wrongRequests(operation, known), async (request) => {
        const { status, body, text } = await send(request)
        const told = `${request.what}: ${request.method} ${request.url.slice(0, 200)}: ${text.slice(0, 500)}`
        expect(status, told).toBeGreaterThanOrEqual(400)
        expect(request.codes, told).toContain(body.code)
        expect(await state(), told).toBe(before)
      }),
      INVALID,
    )
  })
})

/** Looks for known secrets in values, while the harness looks for undeclared fields. */
function expectNoSecret({ replies }: Operation, { text }: RestAnswer): void {
  expect(text).not.toMatch(/plain:|hash of a secret|password_?hash|secret_?hash/i)
  expect(text).not.toContain(SECRET)
  if (!/_token|api_key|flp_/.test(JSON.stringify(replies)))
    expect(text).not.toMatch(/\beyJ[\w-]+\.|\bfl[kp]_\w+_|\brt_[\w-]{20}/)
}
