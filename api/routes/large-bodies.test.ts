// Bodies that are larger than anything that may be kept. Packing them for a shard, and unpacking them there, takes a
// quarter of a second, for which the shard processes nothing else.
import { expect, test, vi } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { openHarness } from '../testing/rest.ts'

const large = (bytes: number) => ({ text: 'x'.repeat(bytes) })

async function asOperator() {
  const harness = openHarness()
  await harness.device('r', { group: 'g' })
  const { token } = await harness.login('operator')
  const submit = vi.spyOn(harness.engine, 'submit')
  const broadcast = vi.spyOn(harness.engine, 'broadcast')
  return { ...harness, submit, broadcast, token }
}

test('a command with more data than may be kept is refused before a shard gets it', async () => {
  const { request, submit, broadcast, token } = await asOperator()
  const data = large(LIMITS.commandDataBytesMax)
  const calls = [
    ['POST /api/v1/commands/r', { command: 'go', data }],
    ['POST /api/v1/commands/$broadcast', { command: 'go', data, group: 'g' }],
  ] as const
  for (const [line, body] of calls)
    expect((await request(line, { token, body })).body).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      limit: LIMITS.commandDataBytesMax,
      actual: LIMITS.commandDataBytesMax + 11,
    })
  expect([submit.mock.calls, broadcast.mock.calls]).toEqual([[], []])
})

test('a change of desired state that cannot fit is refused before a shard gets it', async () => {
  const { request, submit, token } = await asOperator()
  const { body } = await request('PUT /api/v1/shadows/r/desired', {
    token,
    body: large(2 * LIMITS.shadowSideBytesMax),
  })
  expect(body).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', side: 'desired' })
  expect(submit).not.toHaveBeenCalled()
})

test('a change that removes every key of the largest state is no larger than it may be', async () => {
  const { request, token } = await asOperator()
  const names = Array.from({ length: 8_000 }, (_, i) => i.toString(36))
  const put = (value: number | null) =>
    request('PUT /api/v1/shadows/r/desired', {
      token,
      body: Object.fromEntries(names.map((name) => [name, value])),
    })
  expect((await put(1)).status).toBe(200)
  expect((await put(null)).body).toMatchObject({ desired: {} })
})
