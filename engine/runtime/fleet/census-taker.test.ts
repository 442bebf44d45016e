import { expect, test } from 'vitest'
import type { DeviceId } from '../../../schemas/ids.ts'
import type { DeviceSummary } from '../../ports/store.ts'
import type { Block } from '../../ports/telemetry.ts'
import { StandingTime } from '../../testing/standing-time.ts'
import { START } from '../shard/testing/items.ts'
import { CensusTaker } from './census-taker.ts'

test('a large fleet in which each device has a group of its own is counted', async () => {
  // As ids come out of the store.
  const ids = Array.from({ length: 200_000 }, (_, i) => `d${i}` as DeviceId)
  const time = new StandingTime(START)
  const inserted: Block[] = []
  const taker = new CensusTaker({
    devices: {
      matching: () => ids,
      // The census looks at nothing else.
      summary: (id) => ({ group: `site/${id}`, status: 'online' }) as DeviceSummary,
    },
    telemetry: { insert: async (block) => void inserted.push(block) },
    clock: time,
    schedule: { every: time.every, sleep: async () => {} },
    failed: (error) => expect.unreachable(String(error)),
  })
  await taker.count()
  expect(inserted).toMatchObject([{ kind: 'census', rows: 1 }])
})
