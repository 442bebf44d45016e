import { expect, test } from 'vitest'
import { Outbox, type OutgoingMessage } from './outbox.ts'

const message = (n: number): OutgoingMessage => ({ suffix: 'telemetry', payload: String(n) })

function open(bounds = { messagesMax: 5, bytesMax: 1_000, inFlightMax: 2 }) {
  let dropped = 0
  const outbox = new Outbox(bounds, (messages) => {
    dropped += messages
  })
  const sent: number[] = []
  const acks: (() => void)[] = []
  const publish = ({ payload }: OutgoingMessage) => {
    sent.push(Number(payload))
    return new Promise<void>((resolve) => acks.push(resolve))
  }
  return { outbox, sent, acks, publish, dropped: () => dropped }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

test('messages wait for a connection, go out in order, a few at a time, and each is done when it is acknowledged', async () => {
  const { outbox, sent, acks, publish } = open()
  const done: number[] = []
  for (let n = 1; n <= 4; n++) void outbox.add(message(n)).then(() => done.push(n))
  expect(sent).toEqual([])
  outbox.connected(publish)
  expect(sent).toEqual([1, 2])
  acks[1]?.()
  await settle()
  expect([sent, done]).toEqual([[1, 2, 3], [2]])
})

test('what was in flight when the connection broke is sent again over the next one', async () => {
  const { outbox, sent, acks, publish } = open()
  const done: number[] = []
  for (let n = 1; n <= 3; n++) void outbox.add(message(n)).then(() => done.push(n))
  outbox.connected(publish)
  outbox.disconnected()
  outbox.connected(publish)
  expect(sent).toEqual([1, 2, 1, 2])
  // An acknowledgement of the old connection counts as well as one of the new.
  acks[0]?.()
  acks[3]?.()
  await settle()
  expect([sent, done, outbox.waiting]).toEqual([[1, 2, 1, 2, 3], [1, 2], 1])
})

test('the oldest messages that are not on their way are dropped, counted and said to have failed', async () => {
  const { outbox, sent, publish, dropped } = open()
  const failed: number[] = []
  outbox.connected(publish)
  for (let n = 1; n <= 8; n++) outbox.add(message(n)).catch(() => failed.push(n))
  await settle()
  expect([sent, failed, dropped(), outbox.waiting]).toEqual([[1, 2], [3, 4, 5], 3, 5])
})

test('an answer to the service overtakes measurements, is dropped after them, and is sent again before them', async () => {
  const { outbox, sent, publish, dropped } = open()
  const answer = (n: number): OutgoingMessage => ({ suffix: 'command/ack', payload: String(n) })
  const failed: number[] = []
  const add = (n: number, { suffix, payload }: OutgoingMessage) =>
    void outbox.add({ suffix, payload }).catch(() => failed.push(n))
  add(1, answer(1))
  for (let n = 2; n <= 6; n++) add(n, message(n))
  add(7, answer(7))
  await settle()
  expect([failed, dropped()]).toEqual([[2, 3], 2])
  outbox.connected(publish)
  outbox.disconnected()
  outbox.connected(publish)
  expect(sent).toEqual([1, 7, 1, 7])
})

test('none is lost, doubled or overtaken while more come than are acknowledged, over several connections', async () => {
  const { outbox, sent, acks, publish, dropped } = open({ messagesMax: 20, bytesMax: 1_000, inFlightMax: 3 })
  const [done, failed]: [number[], number[]] = [[], []]
  for (let n = 1; n <= 200; n++) {
    outbox.add(message(n)).then(
      () => done.push(n),
      () => failed.push(n),
    )
    if (n % 40 === 10) outbox.connected(publish)
    if (n % 40 === 0) outbox.disconnected()
    if (n % 3 === 0) acks.shift()?.()
    await settle()
  }
  outbox.connected(publish)
  while (outbox.waiting > 0) {
    for (const ack of acks.splice(0)) ack()
    await settle()
  }
  const inOrder = [...new Set(sent)]
  expect(inOrder).toEqual(inOrder.toSorted((a, b) => a - b))
  expect([...done, ...failed].sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1))
  expect([failed.length > 0, dropped()]).toEqual([true, failed.length])
})
