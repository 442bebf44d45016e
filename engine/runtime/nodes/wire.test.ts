import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CommandId, Millis } from '../../../schemas/ids.ts'
import { MemoryMesh, MemoryNet } from '../../adapters/mesh/testing/memory.ts'
import { FAULT_CODES, Fault } from '../../ports/fault.ts'
import { idOf } from '../shard/testing/items.ts'
import { WIRE_VERSION } from '../versioned.ts'
import { anyOutcome, anyWork } from './testing/wire-arbitraries.ts'
import { askNode, serveNode } from './wire.ts'
import type { NodeOutcomes, NodeWork } from './work.ts'

type Outcome = NodeOutcomes[keyof NodeOutcomes]

const FLUSH: NodeWork = { kind: 'flush', horizon: Millis(5), partitions: [] }
const to = { address: 'b', timeoutMs: 10_000 }

/** Has another node do the work over a mesh, and returns the outcome. */
async function over(work: NodeWork, perform: (work: NodeWork) => Promise<Outcome>): Promise<Outcome> {
  const net = new MemoryNet()
  serveNode(new MemoryMesh(net, 'b'), perform)
  return askNode(new MemoryMesh(net, 'a'), work, to)
}

/** Compares undefined fields and fields of any name, too. */
function expectSame(arrived: unknown, sent: unknown): void {
  deepStrictEqual(arrived, structuredClone(sent))
}

// Each kind has runs of its own, so that no draw leaves one out.
test.each(Object.keys(anyOutcome))('any %s arrives unchanged, and so does any outcome', async (kind) => {
  const anyCall = anyWork
    .filter((work) => work.kind === kind)
    .chain((work) => fc.tuple(fc.constant(work), anyOutcome[work.kind]))
  await fc.assert(
    fc.asyncProperty(anyCall, async ([work, outcome]) => {
      const came = await over(work, async (arrived) => {
        expectSame(arrived, work)
        return outcome
      })
      expectSame(came, outcome)
    }),
    { numRuns: 20 },
  )
})

test('a fault comes back unchanged, with its code and whether to retry', async () => {
  for (const code of FAULT_CODES)
    for (const retryable of [true, false]) {
      const failed = over(FLUSH, () => Promise.reject(new Fault(code, { retryable, message: 'no room' })))
      await expect(failed).rejects.toMatchObject({ name: 'Fault', code, retryable, message: 'no room' })
    }
})

test('a bug in the other node is a failure that must not be retried', async () => {
  const failed = over(FLUSH, () => Promise.reject(new TypeError('x is not a function')))
  await expect(failed).rejects.toMatchObject({
    code: 'NODE_FAILED',
    retryable: false,
    message: expect.stringContaining('x is not a function'),
  })
})

test('nodes of two incompatible releases report that they do not understand each other', async () => {
  const net = new MemoryNet()
  const node = new MemoryMesh(net, 'b')
  const other = new MemoryMesh(net, 'other')
  const asker = new MemoryMesh(net, 'a')
  let isPerformed = false
  serveNode(node, async () => {
    isPerformed = true
    return undefined
  })
  const mine = await asker.ask('b', Uint8Array.from([WIRE_VERSION + 1, 1, 2, 3]), 10_000)
  expect([mine[0], isPerformed]).toEqual([WIRE_VERSION, false])
  const failed = { code: 'NODE_FAILED', retryable: false, message: expect.stringContaining('version') }
  let answer: readonly number[] = [WIRE_VERSION + 1, 0xc0]
  other.serve(async () => Uint8Array.from(answer))
  const ask = () => askNode(asker, FLUSH, { ...to, address: 'other' })
  await expect(ask()).rejects.toMatchObject(failed)
  answer = []
  await expect(ask()).rejects.toMatchObject(failed)
  answer = [WIRE_VERSION, 0xdf]
  await expect(ask()).rejects.toMatchObject({ code: 'NODE_FAILED', retryable: false })
})

test('the outcome has the type of its work', async () => {
  const net = new MemoryNet()
  serveNode(new MemoryMesh(net, 'b'), async () => undefined)
  const about = { deviceId: idOf('d1'), commandId: CommandId('c') }
  const work = { kind: 'await', ...about, after: [], timeoutMs: 1 } as const
  const command = await askNode(new MemoryMesh(net, 'a'), work, to)
  expect(command?.status).toBeUndefined()
})
