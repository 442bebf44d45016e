import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { type DeviceId, Micros, Millis } from '../../schemas/ids.ts'
import { LIMITS } from '../limits.ts'
import type { DeviceSession, Downlink } from '../ports/broker.ts'
import type { DeadLetter } from '../ports/store.ts'
import { ErrorPublisher } from './error-publisher.ts'

function stage({ isListening = true } = {}) {
  let now = 1_000_000
  const sent: string[] = []
  const state = { isListening }
  const teller = new ErrorPublisher({
    broker: {
      publish: async ({ deviceId, suffix, payload }: Downlink) => {
        if (!state.isListening) return false
        sent.push(`${deviceId} ${suffix} ${JSON.parse(Buffer.from(payload).toString()).detail}`)
        return true
      },
    },
    now: () => Millis(now),
    failed: (error) => {
      throw error
    },
  })
  const pass = (ms: number) => {
    now += ms
  }
  return { teller, sent, state, pass }
}

const letter = (id: string, detail: string): DeadLetter => ({
  id: 'dl_1',
  // A test may use any name for a device.
  deviceId: id as DeviceId,
  topic: `fleet/${id}/telemtry`,
  reason: 'UNKNOWN_TOPIC',
  detail,
  payload: new Uint8Array(0),
  payloadBytes: 0,
  receivedAt: Micros(1),
})
const always = () => true
// The error teller reads only these members.
const session = { deviceId: 'a', takes: (suffix: string) => suffix === 'error' } as unknown as DeviceSession
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('a device is told at most once in a second, however much it sends, and other devices are told meanwhile', () => {
  const { teller, sent, pass } = stage()
  teller.publishFor([letter('a', 'one'), letter('a', 'two'), letter('b', 'three')], always)
  pass(LIMITS.errorToldEveryMs - 1)
  teller.publishFor([letter('a', 'four')], always)
  pass(1)
  teller.publishFor([letter('a', 'five')], always)
  expect(sent).toEqual(['a error one', 'b error three', 'a error five'])
})

test('a node tells nothing to a device that belongs to another node by now', () => {
  const { teller, sent } = stage()
  teller.publishFor([letter('a', 'one')], () => false)
  expect(sent).toEqual([])
})

test('a device that was not subscribed is told the latest error once it subscribes, unless that is too late', async () => {
  const { teller, sent, state, pass } = stage({ isListening: false })
  for (const detail of ['one', 'two']) {
    teller.publishFor([letter('a', detail)], always)
    await settled()
    pass(LIMITS.errorToldEveryMs)
  }
  state.isListening = true
  teller.subscribed({ ...session, takes: () => false })
  expect(sent).toEqual([])
  teller.subscribed(session)
  teller.subscribed(session)
  expect(sent).toEqual(['a error two'])
  state.isListening = false
  teller.publishFor([letter('a', 'three')], always)
  await settled()
  pass(LIMITS.errorKeptMs)
  state.isListening = true
  teller.subscribed(session)
  expect(sent).toEqual(['a error two'])
})

test('the number of devices told in a second is limited, and so is the number that wait', async () => {
  const { teller, sent, state } = stage({ isListening: false })
  const flood = Array.from({ length: LIMITS.errorsKeptMax + 1 }, (_, index) => letter(`d${index}`, 'x'))
  teller.publishFor(flood, always)
  await settled()
  state.isListening = true
  // The device that had waited longest was dropped to make room.
  for (const id of ['d0', 'd1']) teller.subscribed({ ...session, deviceId: id as DeviceId })
  expect(sent).toEqual(['d1 error x'])
})
