import { expect, test } from 'vitest'
import type { JsonObject } from '../../../../schemas/json.ts'
import { parseShares, UPDATE_KINDS, type UpdateKind } from './update-kinds.ts'
import { Updater } from './updater.ts'

function order(more: JsonObject = {}): JsonObject {
  return {
    ...{ deployment_id: 'dep_1', attempt: 1, seq: 1, action: 'install', version: '2.0', reports_as: '2.0' },
    ...{ url: 'http://x/image', sha256: 'ab'.repeat(32), size_bytes: 3, filename: 'f.bin' },
    ...more,
  }
}

/** Carries out the orders without delay and logs what happens. */
async function updated(kind: UpdateKind, orders: readonly JsonObject[] = [order()]) {
  const log: string[] = []
  const updater = new Updater('1.0', kind, {
    say: ({ status, error }) => log.push([status, Reflect.get(Object(error), 'code') ?? ''].join(' ').trim()),
    download: async (_, progress) => {
      progress(50)
      return true
    },
    sleep: async () => {},
    reboot: async (version) => {
      log.push(version === undefined ? 'off' : `boots ${version}`)
    },
  })
  for (const each of orders) {
    updater.take(each)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { log, version: updater.version }
}

const LOAD = ['downloading', 'downloading', 'downloaded', 'installing']

test.each<[UpdateKind, string[], string]>([
  ['ok', [...LOAD, 'rebooting', 'boots 2.0', 'succeeded'], '2.0'],
  ['slow', [...LOAD, 'rebooting', 'boots 2.0', 'succeeded'], '2.0'],
  ['quiet', ['boots 2.0'], '2.0'],
  ['reject', ['rejected LOW_BATTERY'], '1.0'],
  ['defer', ['deferred'], '1.0'],
  ['download_fail', ['downloading', 'failed DOWNLOAD_FAILED'], '1.0'],
  ['corrupt', ['downloading', 'downloading', 'failed CHECKSUM_MISMATCH'], '1.0'],
  ['stall_downloading', ['downloading'], '1.0'],
  ['stall_installing', LOAD, '1.0'],
  ['power_cut', [...LOAD, 'boots 1.0'], '1.0'],
  ['brick', [...LOAD, 'rebooting', 'off'], '1.0'],
  ['rollback_self', [...LOAD, 'rebooting', 'boots 1.0'], '1.0'],
  ['wrong_version', [...LOAD, 'rebooting', 'boots 0.0.0-other'], '0.0.0-other'],
  ['liar', [...LOAD, 'succeeded'], '1.0'],
  ['already_installed', ['already_installed'], '1.0'],
  ['restart_midway', ['downloading', 'boots 1.0'], '1.0'],
  ['crash_loop', [...LOAD, 'rebooting', ...Array.from({ length: 10 }, () => 'boots 2.0')], '2.0'],
])('a device with the behaviour %s does %j', async (kind, expected, version) => {
  const done = await updated(kind)
  expect(done).toEqual({ log: expected, version })
})

test('a repeated message is answered with the last report and starts no new update', async () => {
  const { log } = await updated('ok', [order(), order({ seq: 2 })])
  expect(log.filter((line) => line === 'rebooting')).toHaveLength(1)
  expect(log.slice(-2)).toEqual(['succeeded', 'succeeded'])
})

test.each<[UpdateKind, string]>([
  ['power_cut', '1.0'],
  ['rollback_self', '1.0'],
  ['wrong_version', '0.0.0-other'],
])(
  'a device with the behaviour %s starts again if it gets the same attempt after its restart',
  async (kind, version) => {
    const { log } = await updated(kind, [order(), order({ seq: 2 })])
    expect(log.filter((line) => line === 'installing')).toHaveLength(2)
    expect(log.at(-1)).toBe(`boots ${version}`)
  },
)

test('another attempt starts from the beginning, and every device carries out a rollback', async () => {
  const failing = await updated('download_fail', [order(), order({ attempt: 2 })])
  expect(failing.log.at(-1)).toBe('succeeded')
  const back = order({ deployment_id: 'dep_2', action: 'rollback', version: '0.9', reports_as: '0.9' })
  expect((await updated('liar', [order(), back])).log.at(-1)).toBe('rolled_back')
})

test('shares are parsed', () => {
  expect(parseShares('brick=5, slow=20')).toEqual({ brick: 5, slow: 20 })
  for (const text of ['', 'brick', 'melt=5', 'brick=60,slow=50', 'brick=1,brick=2'])
    expect(parseShares(text)).toBeUndefined()
  expect(UPDATE_KINDS).toHaveLength(17)
})
