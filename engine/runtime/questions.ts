// What is asked of the shards: each question goes to whom it concerns, and sees all that was acknowledged before it.
import type { BroadcastId, DeviceId, Partition } from '../../schemas/ids.ts'
import type { Command } from '../domain/command/record.ts'
import type { Shadow } from '../domain/shadow/record.ts'
import type { DeviceView } from '../ports/device-view.ts'
import type { Metric, Snapshot } from '../ports/engine.ts'
import type { Log } from '../ports/log.ts'
import { partitionOf } from './partition.ts'
import type { Answer, Ask, Child, Mark } from './shard/protocol.ts'

interface Asked {
  ask(ask: Ask, after: readonly Mark[]): Promise<Answer>
}

export class Questions {
  readonly #log: Pick<Log, 'ends'>
  readonly #shards: Asked[] = []
  readonly #shardOf: Asked[] = []

  constructor(log: Pick<Log, 'ends'>) {
    this.#log = log
  }

  add(shard: Asked, partitions: readonly Partition[]): void {
    this.#shards.push(shard)
    for (const partition of partitions) this.#shardOf[partition] = shard
  }

  async views(deviceIds: readonly DeviceId[]): Promise<readonly (DeviceView | undefined)[]> {
    const byShard = new Map<Asked, DeviceId[]>()
    for (const id of deviceIds) {
      const shard = this.#shardFor(id)
      const ids = byShard.get(shard)
      if (ids === undefined) byShard.set(shard, [id])
      else ids.push(id)
    }
    const found = new Map<DeviceId, DeviceView | undefined>()
    const ask = async ([shard, ids]: readonly [Asked, readonly DeviceId[]]) => {
      const answer = await shard.ask({ kind: 'views', deviceIds: ids }, this.#ends(ids))
      if (answer.kind !== 'views') return
      ids.forEach((id, i) => {
        found.set(id, answer.views[i])
      })
    }
    await Promise.all([...byShard].map(ask))
    return deviceIds.map((id) => found.get(id))
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
    const answers = await Promise.all(
      this.#shards.map((shard) => shard.ask({ kind: 'children', broadcastId }, [])),
    )
    return answers.flatMap((answer) => (answer.kind === 'children' ? answer.children : []))
  }

  #ask(ask: Extract<Ask, { readonly deviceId: DeviceId }>): Promise<Answer> {
    return this.#shardFor(ask.deviceId).ask(ask, this.#ends([ask.deviceId]))
  }

  #shardFor(deviceId: DeviceId): Asked {
    const shard = this.#shardOf[partitionOf(deviceId)]
    if (shard === undefined) throw new Error('every partition has a shard')
    return shard
  }

  /** The log's end for these devices: what was acknowledged lies at or before it. */
  #ends(deviceIds: readonly DeviceId[]): readonly Mark[] {
    const ends = this.#log.ends()
    return deviceIds.map((id) => {
      const partition = partitionOf(id)
      return { partition, seq: ends[partition] ?? 0 }
    })
  }
}
