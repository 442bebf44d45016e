// The part of the contract about devices that are gone.
import { expect, test } from 'vitest'
import { CommandId, type DeviceId } from '../../../../schemas/ids.ts'
import type { DeviceRecord } from '../../../domain/device/record.ts'
import type { DeadLetter, Save, Store, StoredDevice } from '../../../ports/store.ts'

/** What the contract makes its examples with. */
interface Makes {
  readonly DeviceIdOf: (text: string) => DeviceId
  readonly device: (id: string, over?: Partial<DeviceRecord>) => DeviceRecord
  readonly letter: (id: string, deviceId?: string) => DeadLetter
  readonly save: (changed: readonly DeviceRecord[], over?: Partial<Save>) => Save
  readonly loadAll: (store: Store, partitions: readonly number[]) => Promise<readonly StoredDevice[]>
}

export function goneContract(
  storeOf: () => Store,
  restart: () => Promise<void>,
  { DeviceIdOf, device, letter, save, loadAll }: Makes,
): void {
  test('a device that is gone leaves nothing, and its id may be another device’s in the same save', async () => {
    const [a1, b1] = [DeviceIdOf('a1'), DeviceIdOf('b1')]
    const part = (deviceId: DeviceId) => ({ deviceId, part: 'shadow', bytes: Uint8Array.of(1) }) as const
    const command = (deviceId: DeviceId, n: number) => {
      return { deviceId, commandId: CommandId(`c${n}`), bytes: Uint8Array.of(n) }
    }
    await storeOf().save(
      save([device('a1', { group: 'old', parentId: DeviceIdOf('gw') }), device('b1')], {
        parts: [part(a1), part(b1)],
        commands: [...Array.from({ length: 70 }, (_, n) => command(a1, n)), command(b1, 1)],
        deadLetters: [letter('dl_1', 'a1'), letter('dl_2', 'b1')],
        late: [
          { deviceId: a1, hour: 3600 },
          { deviceId: b1, hour: 3600 },
        ],
      }),
    )
    const vitals = [a1, b1].map((deviceId) => ({ deviceId, bytes: Uint8Array.of(9) }))
    await storeOf().checkpoint({ claims: [], inserted: [], vitals })
    await storeOf().save(save([], { removed: [a1] }))
    // A checkpoint that was under way.
    await storeOf().checkpoint({ claims: [], inserted: [], vitals })
    const looked = async () => {
      expect(storeOf().devices.get(a1)).toBeUndefined()
      expect(storeOf().devices.summary(a1)).toBeUndefined()
      expect(storeOf().devices.subDevices(DeviceIdOf('gw'))).toEqual([])
      expect(storeOf().devices.matching({})).toEqual([b1])
      expect(storeOf().devices.countByStatus().offline).toBe(1)
      expect(storeOf().devices.list({ group: 'old' }, { offset: 0, limit: 9 }).total).toBe(0)
      expect(storeOf().lateHours()).toEqual([{ deviceId: b1, hour: 3600 }])
      const { letters } = await storeOf().deadLetters({ offset: 0, limit: 9 })
      expect(letters.map(({ id }) => id)).toEqual(['dl_2'])
      expect((await loadAll(storeOf(), [1])).map((each) => each.device.id)).toEqual([b1])
    }
    await looked()
    await restart()
    await looked()
    await storeOf().save(
      save([device('a1', { name: 'New' })], { removed: [a1, b1], commands: [command(a1, 7)] }),
    )
    await restart()
    expect(await loadAll(storeOf(), [1])).toEqual([
      {
        device: device('a1', { name: 'New' }),
        vitals: undefined,
        parts: {},
        commands: [expect.objectContaining({ 0: 7 })],
      },
    ])
  })
}
