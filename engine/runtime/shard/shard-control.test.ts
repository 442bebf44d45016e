import { describe, expect, test } from 'vitest'
import { CommandId, Micros } from '../../../schemas/ids.ts'
import { ITEM } from '../../domain/bundle.ts'
import type { DeviceRequest } from '../../domain/device/events.ts'
import { packDelivered } from './control-uplinks.ts'
import type { WorkResult } from './protocol.ts'
import { packSession, type TakenTopics } from './sessions.ts'
import { decodeCommand, decodeShadow } from './stored-parts.ts'
import { closed, deviceOf, opened, request, START, type TestItem, telemetry } from './testing/items.ts'
import { at, online, ShardBench } from './testing/shard.ts'

const listening = (id: string, when: number, openedAt: number, takes?: TakenTopics): TestItem => ({
  kind: ITEM.listening,
  id,
  at: when,
  payload: packSession({
    ...{ number: Micros((START + openedAt) * 1000), ip: '10.0.0.1', cause: undefined },
    ...(takes === undefined ? {} : { takes }),
  }),
})
const delivered = (id: string, when: number, commandId: string): TestItem => ({
  kind: ITEM.delivered,
  id,
  at: when,
  payload: packDelivered({ commandId: CommandId(commandId), message: 'command' }),
})
const message = (id: string, when: number, suffix: string, body: object | string): TestItem => ({
  ...telemetry(id, when, body),
  suffix,
})
const wish = (id: string, more: object = {}): DeviceRequest => ({
  kind: 'command',
  id: CommandId(id),
  wish: { name: 'go', ...more },
})
const sent = ({ proposal }: WorkResult) =>
  proposal.outbound.map(({ message: { suffix, payload } }) => [
    suffix,
    JSON.parse(Buffer.from(payload).toString()),
  ])
const topics = (result: WorkResult) => sent(result).map(([suffix]) => suffix)
const edges = ({ proposal }: WorkResult) =>
  proposal.feed.flatMap((event) => (event.kind === 'command' ? [event.command.status] : []))
const written = ({ proposal }: WorkResult) =>
  proposal.commands.flatMap(({ bytes }) => (bytes === undefined ? [] : [decodeCommand(bytes).status]))

/** A device that is connected and subscribed to commands. */
function listeningBench(): ShardBench {
  const bench = new ShardBench([online])
  bench.apply([opened('a', 1), listening('a', 2, 1)])
  return bench
}

test('a device shows which topics of the service its connection has subscribed to', () => {
  const bench = new ShardBench([online])
  const seen = () => bench.ask({ kind: 'views', deviceIds: [online.id] }, { now: at(9) })[0]?.subscriptions
  expect(seen()).toEqual([])
  bench.apply([opened('a', 1), listening('a', 2, 1, { commands: false, ota: true })])
  expect(seen()).toEqual(['ota'])
  bench.apply([listening('a', 3, 1, { commands: true, ota: true })])
  expect(seen()).toEqual(['command', 'ota'])
  bench.apply([opened('a', 4)])
  expect(seen()).toEqual([])
})

describe('a command', () => {
  test('goes from request to answer, and each step is saved, told and remembered', () => {
    const bench = listeningBench()
    const created = bench.apply([request('a', 10, wish('c1'))])
    expect([topics(created), edges(created), written(created)]).toEqual([
      ['command'],
      ['pending'],
      ['pending'],
    ])
    expect(created.proposal.replies).toMatchObject([
      { kind: 'done', command: { id: 'c1', status: 'pending' } },
    ])
    expect(created.proposal.changed).toEqual([])
    const taken = bench.apply([delivered('a', 20, 'c1')])
    expect([edges(taken), written(taken)]).toEqual([['delivered'], ['delivered']])
    const ended = bench.apply([message('a', 30, 'command/ack', { request_id: 'c1', status: 'completed' })])
    expect([edges(ended), written(ended)]).toEqual([['completed'], ['completed']])
    expect(ended.proposal.history.map(({ kind, body }) => [kind, JSON.parse(body).status])).toEqual([
      ['command', 'completed'],
    ])
  })

  test('waits for a session that is subscribed to commands, and is sent again in the next one', () => {
    const bench = new ShardBench([online])
    expect(topics(bench.apply([request('a', 1, wish('c1')), opened('a', 2)]))).toEqual([])
    expect(topics(bench.apply([listening('a', 3, 2)]))).toEqual(['command'])
    bench.apply([closed('a', 4, 2)])
    const again = bench.apply([opened('a', 5), listening('a', 6, 5)])
    expect(sent(again)).toMatchObject([['command', { request_id: 'c1' }]])
  })

  test('is not sent to a session whose subscription is reported after its end', () => {
    const bench = new ShardBench([online])
    bench.apply([opened('a', 1), opened('a', 5), request('a', 6, wish('c1'))])
    expect(topics(bench.apply([listening('a', 7, 1)]))).toEqual([])
  })

  test('is sent again while nobody acknowledges it, and expires if nobody answers', () => {
    const bench = listeningBench()
    bench.apply([request('a', 10, wish('c1', { timeoutSec: 15 }))])
    expect(topics(bench.work({ sweep: at(10_009), now: at(10_009) }))).toEqual([])
    expect(topics(bench.work({ sweep: at(10_010), now: at(10_010) }))).toEqual(['command'])
    const over = bench.work({ sweep: at(15_010), now: at(15_010) })
    expect([topics(over), edges(over)]).toEqual([[], ['expired']])
  })

  test('a command of a backlog is not sent after its time limit, whatever time its message has', () => {
    const bench = listeningBench()
    const late = bench.apply([request('a', 10, wish('c1', { timeoutSec: 5 }))], { now: at(5_010) })
    expect([topics(late), edges(late)]).toEqual([[], ['pending']])
  })

  test('is answered within telemetry, too; unknown and malformed answers are parked, repeated ones are ignored', () => {
    const bench = listeningBench()
    bench.apply([request('a', 10, wish('c1'))])
    expect(edges(bench.apply([telemetry('a', 20, { request_id: 'c1', status: 'failed' })]))).toEqual([
      'failed',
    ])
    const nothing = bench.apply([message('a', 21, 'command/ack', { request_id: 'c9', status: 'acked' })])
    expect([nothing.counts.refused, nothing.proposal.commands]).toEqual([1, []])
    expect(nothing.proposal.deadLetters.map(({ reason }) => reason)).toEqual(['UNKNOWN_COMMAND'])
    const again = bench.apply([
      message('a', 22, 'command/ack', { request_id: 'c1', status: 'failed' }),
      message('a', 22, 'command/ack', { request_id: 'c9_cancel', status: 'completed' }),
    ])
    expect([again.counts.ignored, again.proposal.deadLetters]).toEqual([2, []])
    const bad = bench.apply([message('a', 22, 'command/ack', '{')])
    expect(bad.proposal.deadLetters.map(({ reason }) => reason)).toEqual(['MALFORMED_ACK'])
  })

  test('stays open after an answer that cannot be read, and its history says once what was wrong', () => {
    const bench = listeningBench()
    bench.apply([request('a', 10, wish('cmd_1'))])
    const wrong = { command_id: 'cmd_1', status: 'done' }
    const told = bench.apply([message('a', 20, 'command/ack', wrong), message('a', 21, 'command/ack', wrong)])
    expect(told.proposal.deadLetters.map(({ reason }) => reason)).toEqual(['MALFORMED_ACK', 'MALFORMED_ACK'])
    const why = { code: 'MALFORMED_ACK', message: expect.stringContaining('request_id must be text') }
    expect(edges(told)).toEqual(['pending'])
    expect(told.proposal.history.map(({ body }) => JSON.parse(body)['error'])).toEqual([why])
    const right = { request_id: 'cmd_1', status: 'completed' }
    expect(edges(bench.apply([message('a', 22, 'command/ack', right)]))).toEqual(['completed'])
  })

  test('that was applied before is neither sent nor told again (S1)', () => {
    const bench = new ShardBench([online], { applied: 1 })
    const { proposal } = bench.apply([
      opened('a', 1),
      listening('a', 2, 1),
      request('a', 10, wish('c1')),
      message('a', 11, 'shadow/reported', { x: 1 }),
      message('a', 12, 'shadow/get', ''),
    ])
    expect([proposal.outbound, proposal.feed, proposal.history, proposal.replies]).toEqual([[], [], [], []])
  })

  test('ends with its device, to which nothing more is sent', () => {
    const bench = listeningBench()
    bench.apply([request('a', 10, wish('c1'))])
    const gone = bench.apply([request('a', 11, { kind: 'decommission' }), request('a', 12, wish('c2'))])
    expect([edges(gone), topics(gone)]).toEqual([['cancelled'], []])
    expect(gone.proposal.replies.at(-1)).toMatchObject({ kind: 'refused', code: 'DEVICE_DECOMMISSIONED' })
  })
})

describe('a shadow', () => {
  const desire = (patch: object): DeviceRequest => ({ kind: 'desire', patch: { ...patch }, mode: 'merge' })

  test('is saved without the record; the new state, its history and its delta are sent', () => {
    const bench = new ShardBench([online])
    const result = bench.apply([request('a', 1, desire({ speed: 2 }))])
    const { changed, parts, replies, history } = result.proposal
    expect(changed).toEqual([])
    expect(parts.map(({ part, bytes }) => [part, decodeShadow(bytes).desired])).toEqual([
      ['shadow', { speed: 2 }],
    ])
    expect(replies).toMatchObject([{ kind: 'done', shadow: { version: 1, desired: { speed: 2 } } }])
    expect(sent(result)).toMatchObject([['shadow/desired', { version: 1, state: { speed: 2 } }]])
    expect(history.map(({ kind, body }) => [kind, JSON.parse(body)])).toMatchObject([
      [
        'shadow',
        { version: 1, section: 'desired', actor: { type: 'user', id: 'usr_1' }, patch: { speed: 2 } },
      ],
    ])
    expect(bench.apply([request('a', 2, desire({ speed: 2 }))]).proposal).toMatchObject({
      parts: [],
      outbound: [],
      history: [],
    })
  })

  test('is sent to a device that connects, asks for it, or forges it', () => {
    const bench = new ShardBench([online])
    bench.apply([request('a', 1, desire({ speed: 2 }))])
    expect(topics(bench.apply([opened('a', 2)]))).toEqual(['shadow/desired'])
    expect(topics(bench.apply([message('a', 3, 'shadow/get', '')]))).toEqual(['shadow/get/accepted'])
    expect(sent(bench.apply([message('a', 5, 'shadow/get', { client_token: 'mine' })]))).toMatchObject([
      ['shadow/get/accepted', { version: 1, client_token: 'mine' }],
    ])
    expect(sent(bench.apply([message('a', 4, 'shadow/desired', { speed: 9 })]))).toMatchObject([
      ['shadow/desired', { version: 1, state: { speed: 2 } }],
    ])
  })

  test('takes a report, and refuses a stale or malformed one', () => {
    const bench = new ShardBench([online])
    const report = (when: number, body: object | string) =>
      sent(bench.apply([message('a', when, 'shadow/reported', body)]))
    expect(report(1, { speed: 1 })).toMatchObject([['shadow/reported/accepted', { version: 1 }]])
    const stale = report(2, { state: { speed: 3 }, version: 7, client_token: 't' })
    expect(stale).toMatchObject([
      [
        'shadow/reported/rejected',
        { code: 'DEVICE_SHADOW_CONFLICT', expected: 1, got: 7, client_token: 't' },
      ],
    ])
    expect(report(3, '[')).toMatchObject([['shadow/reported/rejected', { code: 'BAD_REQUEST' }]])
  })
})

test('saved parts of a device are loaded as they were', () => {
  const bench = listeningBench()
  const results = [
    bench.apply([request('a', 10, wish('c2', { data: { to: [1, null] } })), request('a', 11, wish('c1'))]),
    bench.apply([message('a', 20, 'command/ack', { request_id: 'c1', status: 'rejected', error: 'no' })]),
    bench.apply([request('a', 21, { kind: 'cancel', id: CommandId('c2') })]),
    bench.apply([request('a', 30, { kind: 'desire', patch: { a: { b: 1 } }, mode: 'replace' })]),
  ]
  const commands = new Map(
    results.flatMap(({ proposal }) => proposal.commands.map((c) => [c.commandId, c.bytes])),
  )
  const saved = results.flatMap(({ proposal }) => proposal.parts)
  const later = new ShardBench([])
  later.shard.run({
    kind: 'load',
    devices: [
      {
        device: deviceOf('a'),
        vitals: undefined,
        parts: Object.fromEntries(saved.map(({ part, bytes }) => [part, bytes])),
        commands: [...commands.values()].flatMap((b) => b ?? []),
      },
    ],
    applied: [],
    now: START,
  })
  const asks = [
    { kind: 'commands', deviceId: online.id },
    { kind: 'shadow', deviceId: online.id },
  ] as const
  const known = bench.work({ asks }).answers
  expect(later.work({ asks }).answers).toEqual(known)
  expect(known).toMatchObject([
    [
      { id: 'c1', status: 'rejected' },
      { id: 'c2', status: 'cancelled' },
    ],
    { version: 1, desired: { a: { b: 1 } } },
  ])
})
