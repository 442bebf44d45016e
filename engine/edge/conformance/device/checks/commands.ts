// CMD: how a device carries out commands.
import { randomUUID } from 'node:crypto'
import type { JsonObject } from '../../../../../schemas/json.ts'
import { SkippedCheck, UnmetCheck } from '../../verdict.ts'
import type { Bench } from '../bench.ts'
import type { Check } from '../check.ts'
import { type PublishedMessage, toEvidence } from '../recording.ts'

const CLAUSE = 'DEVICES.md, What a device is sent'
const ANSWER_MS = 10_000
const QUIET_MS = 3_000
const TIMEOUT_MS = 30_000
const RESULT_BYTES_MAX = 64 * 1024
const IN_A_ROW = 5
const FINAL: readonly unknown[] = ['completed', 'failed', 'rejected']
const NOT_DONE: readonly unknown[] = ['failed', 'rejected']

export const COMMAND_CHECKS: readonly Check[] = [
  check('CMD-02', 'the device answers a command with its request id', async (bench) => {
    await carryOut(bench, bench.device.command)
  }),
  check(
    'CMD-03',
    'the device carries out a command that is delivered twice once, and answers twice',
    async (bench) => {
      const order = orderOf(bench.device.command)
      const first = await finalAnswer(bench, order)
      await expectSameAnswer(bench, { order, first })
    },
  ),
  check('CMD-04', 'the device does so even if it was killed between the deliveries', async (bench) => {
    await killAfterAnswer(bench)
    await killDuringCommand(bench)
  }),
  check('CMD-05', 'the device does not carry out an expired command', async (bench) => {
    const order = {
      ...orderOf(bench.device.command),
      issued_at: new Date(Date.now() - 120_000).toISOString(),
      expires_at: new Date(Date.now() - 60_000).toISOString(),
    }
    await bench.ready()
    await bench.broker.send('command', order)
    const done = await bench.observe(() => answer(bench, order, ['completed']), QUIET_MS)
    if (done !== undefined) throw new UnmetCheck('it carried out an expired command', toEvidence(done))
    await carryOut(bench, bench.device.command)
  }),
  check('CMD-06', 'the device answers failed or rejected to an unknown command', async (bench) => {
    const answer = await finalAnswer(bench, orderOf('no_such_command'))
    if (!NOT_DONE.includes(answer.body?.['status']))
      throw new UnmetCheck('it did not refuse an unknown command', toEvidence(answer))
  }),
  check('CMD-07', 'a cancelled command does not complete', cancel),
  check('CMD-08', 'the device ignores malformed commands and stays connected', ignoresMalformed),
  {
    ...check('CMD-09', 'a result has at most 64 KiB', async (bench) => {
      await carryOut(bench, bench.device.command)
      for (const message of bench.broker.published('command/ack')) {
        const result = message.body?.['result']
        const size = result === undefined ? 0 : Buffer.byteLength(JSON.stringify(result))
        if (size > RESULT_BYTES_MAX) throw new UnmetCheck(`a result has ${size} bytes`, toEvidence(message))
      }
    }),
  },
  {
    ...check('CMD-10', 'the device carries out commands in the order in which they arrive', keepsOrder),
    level: 'SHOULD',
  },
]

function check(id: string, title: string, run: Check['run']): Check {
  return { id, level: 'MUST', track: 'commands', clause: CLAUSE, title, run }
}

function orderOf(command: string, data: JsonObject = {}): JsonObject & { readonly request_id: string } {
  const now = Date.now()
  return {
    request_id: `cmd_${randomUUID()}`,
    ...{ command, data, timeout_ms: TIMEOUT_MS, priority: 'normal' },
    issued_at: new Date(now).toISOString(),
    expires_at: new Date(now + TIMEOUT_MS).toISOString(),
  }
}

/** Returns the latest answer to the command with one of these statuses. */
function answer(
  { broker }: Bench,
  { request_id: id }: JsonObject,
  words: readonly unknown[] = FINAL,
  since = 0,
): PublishedMessage | undefined {
  return broker
    .published('command/ack', since)
    .findLast(({ body }) => body?.['request_id'] === id && words.includes(body?.['status']))
}

async function finalAnswer(bench: Bench, order: JsonObject): Promise<PublishedMessage> {
  await bench.ready()
  const since = bench.broker.messages
  await bench.broker.send('command', order)
  return bench.until(
    `an answer to ${String(order['command'])} on command/ack with its request_id and completed, failed or rejected`,
    () => answer(bench, order, FINAL, since),
    ANSWER_MS,
  )
}

async function carryOut(bench: Bench, command: string): Promise<void> {
  const done = await finalAnswer(bench, orderOf(command))
  if (done.body?.['status'] === 'rejected')
    throw new UnmetCheck(
      `it does not know ${command}; use --command to name a command that it knows`,
      toEvidence(done),
    )
}

interface SentOrder {
  readonly order: JsonObject
  readonly first: PublishedMessage
}

/** Checks that a repeated command gets the same answer. A different answer would mean that it was carried out again. */
async function expectSameAnswer(bench: Bench, { order, first }: SentOrder): Promise<void> {
  const second = await finalAnswer(bench, order)
  const core = ({ body }: PublishedMessage) =>
    JSON.stringify([body?.['status'], body?.['executed_at'], body?.['result'], body?.['error']])
  if (core(first) !== core(second))
    throw new UnmetCheck(
      'it carried out a command twice: its second answer differs from the first one',
      `${toEvidence(first)}; then ${toEvidence(second)}`,
    )
}

async function killAfterAnswer(bench: Bench): Promise<void> {
  const order = orderOf(bench.device.command)
  const first = await finalAnswer(bench, order)
  await bench.killAndRestart()
  await expectSameAnswer(bench, { order, first })
}

/** Checks that a device that is killed during a command does not carry it out again. It may report a failure. */
async function killDuringCommand(bench: Bench): Promise<void> {
  const { slowCommand: slow } = bench.device
  if (slow === undefined) return
  const order = orderOf(slow.command, slow.data)
  await bench.ready()
  await bench.broker.send('command', order)
  await bench.until(
    `an answer to ${slow.command} with acked, accepted or in_progress`,
    () => answer(bench, order, ['acked', 'accepted', 'in_progress']),
    ANSWER_MS,
  )
  await bench.killAndRestart()
  const again = await finalAnswer(bench, order)
  if (again.body?.['status'] === 'completed')
    throw new UnmetCheck('it was killed during a command and carried it out again', toEvidence(again))
}

async function cancel(bench: Bench): Promise<void> {
  const { slowCommand: slow } = bench.device
  if (slow === undefined)
    throw new SkippedCheck(
      'this needs a command that takes some seconds, such as --slow-command \'drive={"sec":5}\'',
    )
  const order = orderOf(slow.command, slow.data)
  await bench.ready()
  await bench.broker.send('command', order)
  const begun = ['acked', 'accepted', 'in_progress']
  await bench.until(`${slow.command} begins`, () => answer(bench, order, begun), ANSWER_MS)
  const cancel = {
    ...orderOf('$cancel', { request_id: order.request_id }),
    request_id: `${order.request_id}_cancel`,
  }
  await bench.broker.send('command', cancel)
  // The device must not be blocked by the cancelled command, so it carries out the next one at once.
  await carryOut(bench, bench.device.command)
  const done = answer(bench, order, ['completed'])
  if (done !== undefined) throw new UnmetCheck('it completed a cancelled command', toEvidence(done))
}

async function ignoresMalformed(bench: Bench): Promise<void> {
  const connection = await bench.ready()
  const bad: readonly (string | Buffer | JsonObject)[] = [
    '',
    'no json',
    '[]',
    '"text"',
    'null',
    '{"request_id":',
    {},
    { command: bench.device.command },
    { request_id: 7, command: {}, data: [] },
    { request_id: 'cmd_x', command: 7 },
    Buffer.from([0xff, 0xfe, 0x00, 0x80]),
  ]
  for (const payload of bad) await bench.broker.send('command', payload)
  await carryOut(bench, bench.device.command)
  if (connection.closedAt !== undefined)
    throw new UnmetCheck('it disconnected because of a malformed command')
}

async function keepsOrder(bench: Bench): Promise<void> {
  await bench.ready()
  const orders = Array.from({ length: IN_A_ROW }, () => orderOf(bench.device.command))
  for (const order of orders) await bench.broker.send('command', order)
  const ends = () => orders.map((order) => answer(bench, order))
  await bench.until(
    'answers to five commands in a row',
    () => ends().every((end) => end !== undefined),
    ANSWER_MS,
  )
  const acks = bench.broker.published('command/ack')
  const places = ends().map((end) => (end === undefined ? -1 : acks.indexOf(end)))
  if (places.some((place, index) => index > 0 && place < (places[index - 1] ?? 0)))
    throw new UnmetCheck('it finished a later command before an earlier one')
}
