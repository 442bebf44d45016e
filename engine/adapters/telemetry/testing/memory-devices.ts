// For tests: the table `devices` in memory.
import type { DeviceId } from '../../../../schemas/ids.ts'
import { readHistoryBlock } from '../../../domain/history/testing/read-block.ts'
import type { Block, DeviceChoice } from '../../../ports/telemetry.ts'

interface Row {
  readonly version: number
  readonly gone?: number
  readonly group?: string
}

export class MemoryDevices {
  readonly #rows = new Map<DeviceId, Row>()

  insert(block: Block): void {
    for (const { deviceId, version, body } of readHistoryBlock(block.bytes)) {
      if (version < (this.#rows.get(deviceId as DeviceId)?.version ?? 0)) continue
      // Written by `domain/fleet/device-rows.ts`.
      this.#rows.set(deviceId as DeviceId, { ...(JSON.parse(body) as Omit<Row, 'version'>), version })
    }
  }

  delete(id: DeviceId): void {
    this.#rows.delete(id)
  }

  matching({ group, within }: DeviceChoice): readonly DeviceId[] {
    const isIn = (own: string, subtree: string) => own === subtree || own.startsWith(`${subtree}/`)
    return [...this.#rows].flatMap(([id, { gone, group: own = '' }]) => {
      const isChosen = group === undefined || isIn(own, group)
      const isSeen = within === undefined || within.some((subtree) => isIn(own, subtree))
      return gone === undefined && isChosen && isSeen ? [id] : []
    })
  }
}
