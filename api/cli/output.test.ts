import { expect, test } from 'vitest'
import { ConnectionError, RefusalError } from '../../schemas/client.ts'
import { toProblem } from '../../schemas/problem.ts'
import type { RefusalCode } from '../../schemas/refusals.ts'
import { Failure, toFailureReport } from './failure.ts'
import { type Column, createOutput, type OutputForm } from './output.ts'

function open({
  isJson = false,
  isTTY = false,
  form = isJson ? 'json' : 'table',
  columns,
}: {
  isJson?: boolean
  isTTY?: boolean
  form?: OutputForm
  columns?: readonly string[]
} = {}) {
  const [stdout, stderr]: [string[], string[]] = [[], []]
  const writer = (lines: string[]) => ({ isTTY, columns: 80, write: (text: string) => lines.push(text) })
  const streams = { stdout: writer(stdout), stderr: writer(stderr) }
  const output = createOutput(streams, { form, isPlain: true, columns })
  return { output, said: () => ({ stdout: stdout.join(''), stderr: stderr.join('') }) }
}

const refusal = (code: RefusalCode, detail: Record<string, unknown> = {}) =>
  new RefusalError(toProblem({ code, detail }, { instance: '/', requestId: 'req_1' }), undefined)

test('JSON output is one document with all fields, whatever the columns', () => {
  const { output, said } = open({ isJson: true })
  output.list([{ a: 1, b: 'x\u009b' }], [['A', ({ a }) => a]])
  expect(said()).toEqual({ stdout: '[{"a":1,"b":"x\\u009b"}]\n', stderr: '' })
})

test('notes and progress never reach stdout, and progress is shown only on a terminal', () => {
  const pipe = open()
  pipe.output.progress('working')
  pipe.output.note('done')
  expect(pipe.said()).toEqual({ stdout: '', stderr: 'done\n' })
  const terminal = open({ isTTY: true })
  terminal.output.progress('working')
  terminal.output.event({}, () => ['a', 1])
  expect(terminal.said()).toEqual({ stdout: 'a  1\n', stderr: '\r\u001b[Kworking\r\u001b[K' })
})

test('an empty list says so to a person, and is empty for a program', () => {
  const said = (about: Parameters<typeof open>[0]) => {
    const { output, said } = open(about)
    output.list([], [['A', () => 1]])
    return said()
  }
  expect(said({ isTTY: true })).toEqual({ stdout: '', stderr: 'nothing found\n' })
  expect(said({})).toEqual({ stdout: '', stderr: '' })
  expect(said({ isTTY: true, isJson: true })).toEqual({ stdout: '[]\n', stderr: '' })
})

const ROBOT = {
  id: 'r1',
  status: 'online',
  last_seen: 'now',
  metadata: { site: 'north' },
  long: 'x'.repeat(90),
}
const ROBOT_COLUMNS: readonly Column<typeof ROBOT>[] = [
  ['ID', ({ id }) => id],
  ['LAST SEEN', ({ last_seen }) => last_seen],
]

test.each([
  [{ columns: ['id', 'last-seen'] }, 'r1\tnow\n'],
  [{ columns: ['status', 'metadata.site', 'metadata.floor', 'LAST SEEN'] }, 'online\tnorth\t\tnow\n'],
  [{ form: 'name' }, 'r1\n'],
  [{ form: 'name', columns: ['status'], isTTY: true }, 'online\n'],
  [{ columns: ['metadata.site'], isTTY: true }, 'METADATA.SITE\nnorth\n'],
] as const)('a list with %j', (about, stdout) => {
  const { output, said } = open(about)
  output.list([ROBOT], ROBOT_COLUMNS)
  expect(said()).toEqual({ stdout, stderr: '' })
})

test('an unknown column is refused with the known ones', () => {
  const { output } = open({ columns: ['stauts'] })
  expect(() => output.list([ROBOT], ROBOT_COLUMNS)).toThrow(
    'there is no column stauts; columns are id, last_seen; fields are id, status, last_seen, metadata, long',
  )
  output.list([], ROBOT_COLUMNS)
})

test('columns that do not fit a terminal are named, and a wide table has them', () => {
  const columns = ['long', 'id', 'status']
  const narrow = open({ columns, isTTY: true })
  narrow.output.list([ROBOT], ROBOT_COLUMNS)
  expect(narrow.said().stderr).toBe('ID, STATUS did not fit; use -o wide, or --columns to choose\n')
  const wide = open({ columns, isTTY: true, form: 'wide' })
  wide.output.list([ROBOT], ROBOT_COLUMNS)
  expect(wide.said()).toEqual({ stdout: expect.stringMatching(/x{90} {2}r1 {2}online\n$/), stderr: '' })
})

test('a failure shows advice, and its code in JSON', () => {
  const report = toFailureReport(refusal('DEVICE_SHADOW_CONFLICT', { expected: 2, got: 1 }))
  const plain = open()
  plain.output.failure(report)
  expect(plain.said().stderr).toBe(
    'fleet: Shadow version conflict: expected version 2, got 1 (req_1)\n' +
      '       run `fleet shadow get`, then try again with the version it shows\n',
  )
  const json = open({ isJson: true })
  json.output.failure(report)
  expect(JSON.parse(json.said().stderr)).toEqual({
    error: expect.objectContaining({ code: 'DEVICE_SHADOW_CONFLICT', request_id: 'req_1', exit_code: 5 }),
  })
})

test('a failure of several lines stays so for a person, without the control characters of others', () => {
  const { output, said } = open()
  output.failure(toFailureReport(new Failure(2, 'a.yaml:1: one\na.yaml:2: \u001b[31mtwo\ra')))
  expect(said().stderr).toBe('fleet: a.yaml:1: one\na.yaml:2: \ufffd[31mtwo a\n')
})

test.each([
  [refusal('NOT_FOUND'), 3],
  [refusal('TOKEN_EXPIRED'), 4],
  [refusal('FORBIDDEN'), 4],
  [refusal('ALREADY_EXISTS'), 5],
  [refusal('PRECONDITION_FAILED'), 5],
  [refusal('VALIDATION_FAILED'), 2],
  [refusal('DEPENDENCY_UNAVAILABLE'), 6],
  [refusal('INTERNAL'), 1],
  [new ConnectionError('timeout', 'x'), 6],
  [new Failure(7, 'x'), 7],
  [new Error('x'), 1],
])('the exit code of %s', (error, exitCode) => expect(toFailureReport(error).exitCode).toBe(exitCode))

test('a refusal names all wrong fields and what is currently allowed', () => {
  const errors = [
    { path: '/name', code: 'REQUIRED', message: 'is required' },
    { path: '/type', code: 'REQUIRED', message: 'is required' },
  ]
  expect(toFailureReport(refusal('VALIDATION_FAILED', { message: 'x', errors })).message).toBe(
    'The request is not valid: /name is required; /type is required',
  )
  expect(toFailureReport(refusal('INVALID_STATE_TRANSITION', { allowed: ['online'] })).advice).toBe(
    'currently allowed: online',
  )
})

test('a change based on an outdated revision is reported in words that fit rules and channels as well as devices', () => {
  const { message, advice } = toFailureReport(refusal('PRECONDITION_FAILED', { expected: '"2"', got: '"1"' }))
  expect(message).toBe('The resource has changed in the meantime: expected "2", got "1"')
  expect(advice).toBe('somebody changed it first: read it again, and make your change to what it is now')
})
