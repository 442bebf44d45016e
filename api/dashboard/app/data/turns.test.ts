import { afterEach, expect, test } from 'vitest'
import { Turns } from './turns.ts'

const channels: BroadcastChannel[] = []
afterEach(() => {
  for (const channel of channels.splice(0)) channel.close()
})

function tab(): Turns {
  const channel = new BroadcastChannel('turns')
  channels.push(channel)
  return new Turns(channel)
}

test('each of five tabs that begin at once has its turn, and never two at a time', async () => {
  let [inside, most] = [0, 0]
  const seen: number[] = []
  const work = async (n: number) => {
    inside += 1
    most = Math.max(most, inside)
    await new Promise((resolve) => setTimeout(resolve, 1))
    seen.push(n)
    inside -= 1
    return n
  }
  const tabs = Array.from({ length: 5 }, tab)
  expect(await Promise.all(tabs.map((one, n) => one.run(() => work(n))))).toEqual([0, 1, 2, 3, 4])
  expect([seen.length, most]).toEqual([5, 1])
})

test('a tab asks while another works, and goes on when that has failed', async () => {
  const [first, second] = [tab(), tab()]
  const order: string[] = []
  let fail: (reason: Error) => void = () => undefined
  let entered: () => void = () => undefined
  const isIn = new Promise<void>((resolve) => {
    entered = resolve
  })
  const failing = first.run(() => {
    entered()
    return new Promise<void>((_, reject) => {
      fail = reject
    })
  })
  await isIn
  const waiting = second.run(async () => void order.push('second'))
  // Two tabs of one page: the next of the first waits behind its own.
  const own = first.run(async () => void order.push('first again'))
  expect(order).toEqual([])
  fail(new Error('refused'))
  await expect(failing).rejects.toThrow('refused')
  await Promise.all([waiting, own])
  expect(order.sort()).toEqual(['first again', 'second'])
})
