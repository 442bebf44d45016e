// What is asked of the shards: each question sees all that was acknowledged before it.
import type { BroadcastId, DeviceId } from '../../schemas/ids.ts'
import type { Command } from '../domain/command/record.ts'
import { partitionOf } from '../domain/partition.ts'
import type { Shadow } from '../domain/shadow/record.ts'
import type { DeviceView } from '../ports/device-view.ts'
import type { Metric, Snapshot } from '../ports/engine.ts'
import type { Log } from '../ports/log.ts'
import type { Answer, Ask, Child, Mark } from './shard/protocol.ts'

/** Who answers; sees all that lies at or before `after`. */
export interface Asked {
  ask(ask: Ask, after: readonly Mark[]): Promise<Answer>
}

export class Questions {
  readonly #log: Pick<Log, 'ends'>
  readonly #asked: Asked

  constructor(log: Pick<Log, 'ends'>, asked: Asked) {
    this.#log = log
    this.#asked = asked
  }

  async views(deviceIds: readonly DeviceId[]): Promise<readonly (DeviceView | undefined)[]> {
    if (deviceIds.length === 0) return []
    const answer = await this.#asked.ask({ kind: 'views', deviceIds }, this.ends(deviceIds))
    return answer.kind === 'views' ? answer.views : []
  }

  async snapshot(deviceId: DeviceId): Promise<Snapshot | undefined> {
    const answer = await this.#ask({ kind: 'snapshot', deviceId })
    return answer.kind === 'snapshot' ? answer.snapshot : undefined
  }

  async metricsOf(deviceId: DeviceId): Promise<readonly Metric[] | undefined> {
    const answer = await this.#ask({ kind: 'metrics', deviceId })
    return answer.kind === 'metrics' ? answer.metrics : undefined
  }

  async shadow(deviceId: DeviceId): Promise<Shadow | undefined> {
    const answer = await this.#ask({ kind: 'shadow', deviceId })
    return answer.kind === 'shadow' ? answer.shadow : undefined
  }

  async commands(deviceId: DeviceId): Promise<readonly Command[] | undefined> {
    const answer = await this.#ask({ kind: 'commands', deviceId })
    return answer.kind === 'commands' ? answer.commands : undefined
  }

  /** Of all devices; the requests that made them are answered before. */
  async children(broadcastId: BroadcastId): Promise<readonly Child[]> {
    const answer = await this.#asked.ask({ kind: 'children', broadcastId }, [])
    return answer.kind === 'children' ? answer.children : []
  }

  #ask(ask: Extract<Ask, { readonly deviceId: DeviceId }>): Promise<Answer> {
    return this.#asked.ask(ask, this.ends([ask.deviceId]))
  }

  /** The log's end for these devices: what was acknowledged lies at or before it. */
  ends(deviceIds: readonly DeviceId[]): readonly Mark[] {
    const ends = this.#log.ends()
    return deviceIds.map((id) => {
      const partition = partitionOf(id)
      return { partition, seq: ends[partition] ?? 0 }
    })
  }
}
