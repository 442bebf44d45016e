// The part of the contract about the table of devices, which every telemetry adapter's test runs.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DeviceId, Millis } from '../../../../schemas/ids.ts'
import { type DeviceDescription, encodeDevices, toRowBody } from '../../../domain/fleet/device-rows.ts'
import type { DeviceChoice, Telemetry } from '../../../ports/telemetry.ts'
import { DeviceIdOf, pointsBlock } from './telemetry.ts'

const AT = Date.UTC(2026, 0, 1)
const IDS = ['a', 'b', 'c', 'd', 'e']

export function devicesContract({
  name,
  open,
}: {
  readonly name: string
  readonly open: () => Promise<Telemetry>
}): void {
  describe(`the table of devices: ${name}`, () => {
    let telemetry: Telemetry
    const copy = async (
      madeAt: number,
      devices: readonly (Partial<DeviceDescription> & { id: DeviceId })[],
    ) => {
      const described = devices.map((device) => {
        const whole = {
          name: "it's",
          type: 'mqtt_device',
          status: 'online',
          group: 'g',
          tags: ['x'],
          ...device,
        } as const
        return [device.id, toRowBody(whole)] as const
      })
      const block = encodeDevices(new Map(described), Millis(madeAt))
      if (block === undefined) throw new Error('no block')
      await telemetry.insert({ kind: 'devices', ...block })
    }
    beforeAll(async () => {
      telemetry = await open()
      for (const [i, device] of IDS.entries())
        await telemetry.insert(
          pointsBlock([{ device, at: AT * 1000 + i, version: i, values: { v: 2 ** i } }]),
        )
      const [a, b, c, d, e] = IDS.map(DeviceIdOf) as [DeviceId, DeviceId, DeviceId, DeviceId, DeviceId]
      await copy(1, [
        { id: a },
        { id: b, group: "g/it's" },
        { id: c, group: 'gh' },
        { id: d, group: undefined },
        { id: e },
      ])
    })
    afterAll(async () => {
      await telemetry.close()
    })

    /** Tells which devices were chosen: the values are powers of two. */
    const chosen = async (among: DeviceChoice) => {
      const [series] = await telemetry.series({
        ...{ deviceIds: [], among, by: 'group', metrics: ['v'], lateHours: [], aggregates: ['avg', 'count'] },
        ...{ from: Millis(AT), to: Millis(AT + 60_000), grid: [{ from: 0, step: 60 }] },
      })
      const [bucket] = series?.buckets ?? []
      const sum = Math.round((bucket?.avg ?? 0) * (bucket?.count ?? 0))
      return IDS.filter((_, i) => (sum & (2 ** i)) !== 0).join('')
    }

    test('devices are chosen by subtrees, or all of them', async () => {
      expect(await chosen({ group: undefined, within: undefined })).toBe('abcde')
      expect(await chosen({ group: 'g', within: undefined })).toBe('abe')
      expect(await chosen({ group: "g/it's", within: undefined })).toBe('b')
      expect(await chosen({ group: 'g', within: ["g/it's", 'gh'] })).toBe('b')
      expect(await chosen({ group: undefined, within: ['gh', 'g/it'] })).toBe('c')
      expect(await chosen({ group: undefined, within: [] })).toBe('')
    })

    test('the latest row counts, a device that is gone does not, and what is forgotten is nowhere', async () => {
      await copy(3, [{ id: DeviceIdOf('a'), group: 'moved' }])
      await copy(2, [{ id: DeviceIdOf('a'), group: 'g' }])
      await copy(3, [{ id: DeviceIdOf('e'), status: 'decommissioned' }])
      expect(await chosen({ group: 'g', within: undefined })).toBe('b')
      expect(await chosen({ group: 'moved', within: undefined })).toBe('a')
      await telemetry.forget([DeviceIdOf('b')])
      // A later device of the same id.
      await telemetry.insert(pointsBlock([{ device: 'b', at: AT * 1000 + 9, version: 9, values: { v: 2 } }]))
      expect(await chosen({ group: undefined, within: undefined })).toBe('acd')
      await copy(1, [{ id: DeviceIdOf('b'), group: 'anew' }])
      expect(await chosen({ group: 'anew', within: undefined })).toBe('b')
    })
  })
}
