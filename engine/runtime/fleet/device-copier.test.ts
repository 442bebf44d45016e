import { beforeEach, expect, test } from 'vitest'
import type { DeviceId } from '../../../schemas/ids.ts'
import { MemoryTelemetry } from '../../adapters/telemetry/testing/memory.ts'
import type { DeviceDescription } from '../../domain/fleet/device-rows.ts'
import { readHistoryBlock } from '../../domain/history/testing/read-block.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { Block } from '../../ports/telemetry.ts'
import { StandingTime } from '../../testing/standing-time.ts'
import { idOf } from '../shard/testing/items.ts'
import { DEVICES_COPIED, DeviceCopier } from './device-copier.ts'

class RecordingTelemetry extends MemoryTelemetry {
  readonly rows: string[] = []
  isAway = false
  override async insert(block: Block): Promise<void> {
    if (this.isAway) throw new Fault('TELEMETRY_UNAVAILABLE', { retryable: true })
    for (const { deviceId, version, body } of readHistoryBlock(block.bytes))
      this.rows.push(`${deviceId} ${version} ${body}`)
    await super.insert(block)
  }
}

let time: StandingTime
let telemetry: RecordingTelemetry
let facts: Map<string, string>
let devices: Map<DeviceId, DeviceDescription>
beforeEach(() => {
  time = new StandingTime(1_000)
  telemetry = new RecordingTelemetry()
  facts = new Map()
  devices = new Map()
  put('a')
  put('b')
})

function put(name: string, about: Partial<DeviceDescription> = {}): void {
  const id = idOf(name)
  devices.set(id, { id, name, type: 't', status: 'online', group: 'g', tags: [], ...about })
}

/** Starts a leader, and returns a function that runs one of its rounds. */
function lead() {
  let round = () => {}
  const copier = new DeviceCopier({
    devices: { matching: () => [...devices.keys()].sort(), summary: (id) => devices.get(id) },
    store: {
      getFact: (name) => facts.get(name),
      putFact: async (name, value) => void facts.set(name, value),
    },
    telemetry,
    clock: time,
    schedule: {
      every(_, work) {
        round = work
        return () => {}
      },
      sleep: async () => {},
    },
    failed: (error) => expect.fail(String(error)),
  })
  copier.open()
  return {
    copier,
    async go(): Promise<readonly string[]> {
      telemetry.rows.length = 0
      round()
      await new Promise((resolve) => setImmediate(resolve))
      return [...telemetry.rows]
    },
  }
}
const inGroup = (group: string) => telemetry.deviceIdsAmong({ group, within: undefined })

test('a leader begins with a copy of all devices, then copies what has changed', async () => {
  const { go } = lead()
  expect(await go()).toHaveLength(2)
  expect(facts.has(DEVICES_COPIED)).toBe(true)
  expect(await go()).toEqual([])
  put('a', { group: 'h' })
  put('b', { status: 'offline' })
  expect(await go()).toEqual([
    expect.stringContaining('a 1001 {"name":"a","type":"t","group":"h","tags":[]}'),
  ])
  expect([inGroup('g'), inGroup('h')]).toEqual([[idOf('b')], [idOf('a')]])
})

test('a decommissioned device is marked as gone and keeps no details, and a purged id may come again', async () => {
  const { go } = lead()
  await go()
  put('a', { status: 'decommissioned' })
  expect(await go()).toEqual([expect.stringMatching(/^a \d+ \{"gone":1\}$/)])
  expect(inGroup('g')).toEqual([idOf('b')])
  await telemetry.forget([idOf('a')])
  devices.delete(idOf('a'))
  expect(await go()).toEqual([])
  put('a')
  expect(await go()).toHaveLength(1)
  expect(new Set(inGroup('g'))).toEqual(new Set([idOf('a'), idOf('b')]))
})

test('a device that was registered again before the next round is copied, though it looks the same', async () => {
  const { copier, go } = lead()
  await go()
  await telemetry.forget([idOf('a')])
  copier.forget(idOf('a'))
  expect(await go()).toHaveLength(1)
  expect(new Set(inGroup('g'))).toEqual(new Set([idOf('a'), idOf('b')]))
})

test('devices whose rows were not stored are copied in the next round, and by the next leader', async () => {
  const first = lead()
  telemetry.isAway = true
  expect(await first.go()).toEqual([])
  expect(facts.has(DEVICES_COPIED)).toBe(false)
  telemetry.isAway = false
  expect(await first.go()).toHaveLength(2)
  put('b', { group: 'h' })
  first.copier.close()
  // The next leader's clock may be behind.
  time.at -= 500
  expect(await lead().go()).toHaveLength(2)
  expect(inGroup('h')).toEqual([idOf('b')])
})

test('everything is copied again from time to time, so that a lost table is restored', async () => {
  const { go } = lead()
  await go()
  await telemetry.forget([idOf('a'), idOf('b')])
  time.at += LIMITS.devicesCopyAllEveryMs - 1
  expect(await go()).toEqual([])
  time.at += 1
  expect(await go()).toHaveLength(2)
  expect(inGroup('g')).toHaveLength(2)
})
