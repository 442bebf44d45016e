// Bodies of bulk registrations that are meant to do harm. Nothing is charged before a body has been read.
import { expect, test } from 'vitest'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { readRows } from './read-rows.ts'

const CPU_MS_MAX = 150

async function* inOnePiece(text: string) {
  yield Buffer.from(text)
}
const read = (text: string, type: string) => readRows(inOnePiece(text), type)
const readCsv = (...rows: readonly string[]) => read(rows.join('\n'), 'text/csv')

const columns = Array.from({ length: 12_000 }, (_, i) => i.toString(36))
const levels = (count: number) => `metadata.${'a.'.repeat(count - 1)}a`

test.each([
  ['of many columns', `name,type,${columns.join()}`, 'text/csv'],
  ['with a column of many levels', `name,type,${levels(4_000)}\n${'x,simulator,x\n'.repeat(10)}`, 'text/csv'],
  ['of many numbers', `[${'1,'.repeat(500_000)}1]`, 'application/json'],
])('a body %s is refused in a moment', async (_, body, type) => {
  // The fastest of a few tries, because CPU time is that of the whole process.
  const cpuMs: number[] = []
  for (let tries = 0; tries < 4; tries++) {
    const before = process.cpuUsage()
    expect((await read(body, type)).kind).toBe('refused')
    cpuMs.push(process.cpuUsage(before).user / 1_000)
  }
  expect(Math.min(...cpuMs)).toBeLessThan(CPU_MS_MAX)
})

test('a column has as many levels as metadata may have', async () => {
  const most = BODY_LIMITS.metadataDepthMax
  expect(await readCsv(`name,type,${levels(most)}`, 'x,simulator,x')).toMatchObject({
    kind: 'rows',
    rows: [{ kind: 'row' }],
  })
  for (const count of [most + 1, 30_000])
    expect(await readCsv(`name,type,${levels(count)}`, 'x,simulator,x')).toMatchObject({
      code: 'VALIDATION_FAILED',
      detail: { errors: [{ code: 'TOO_DEEP', message: `is nested deeper than ${most} levels` }] },
    })
})

test.each([
  ['{"metadata":{"a":1e999}}', 'application/x-ndjson'],
  ['[{"metadata":{"a":[-1e999]}}]', 'application/json'],
  ['{"metadata":{"__proto__":{}}}', 'application/x-ndjson'],
  ['{"metadata":{"constructor":{"prototype":1}}}', 'application/x-ndjson'],
  ['name,type,metadata\nx,simulator,"{""a"":1e999}"', 'text/csv'],
])(
  'a number beyond all numbers or a key that reaches for a prototype is in no row: %s',
  async (text, type) => {
    const found = await read(text, type)
    expect(found.kind === 'rows' ? found.rows.map(({ kind }) => kind) : ['refused']).not.toContain('row')
  },
)
