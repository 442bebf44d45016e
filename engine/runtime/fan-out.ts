// One way from a question to those who own the devices it is about, and back: it is split by owner, and the answers are
// joined. An owner is a shard of this node, or another node.
import type { Partition } from '../../schemas/ids.ts'
import { partitionOf } from '../domain/partition.ts'
import { unreachable } from '../domain/unreachable.ts'
import { grouped } from './grouped.ts'
import type { Answer, AnswerOf, Ask, Position } from './shard/protocol.ts'

export interface Owners<Owner> {
  /** The partitions that a question about all devices concerns. */
  readonly partitions: Iterable<Partition>
  /** Throws a `NOT_OWNED` fault if the partition has no owner. */
  readonly ownerOf: (partition: Partition) => Owner
  /** `partitions`: those the question is about, all of them this owner's. */
  readonly ask: <A extends Ask>(owner: Owner, question: Question<A>) => Promise<AnswerOf<A>>
}

export interface Question<A extends Ask = Ask> {
  readonly ask: A
  /** The answer sees everything at or before these. */
  readonly after: readonly Position[]
  readonly partitions: readonly Partition[]
}

/** Asks all owners at once; without one of them there is no answer. */
export async function fanOut<Owner, A extends Ask>(
  owners: Owners<Owner>,
  { ask, after }: Omit<Question<A>, 'partitions'>,
): Promise<AnswerOf<A>> {
  // Each branch below answers its own kind of question, which a switch over a type parameter loses.
  return (await answerOf(owners, ask, after)) as AnswerOf<A>
}

async function answerOf<Owner>(owners: Owners<Owner>, ask: Ask, after: readonly Position[]): Promise<Answer> {
  switch (ask.kind) {
    case 'views': {
      const { deviceIds } = ask
      const shares = grouped(deviceIds, (id) => owners.ownerOf(partitionOf(id)))
      const answers = [...shares].map(async ([owner, ids]) => {
        const partitions = [...new Set(ids.map(partitionOf))]
        const positions = after.filter(({ partition }) => partitions.includes(partition))
        const share = { ask: { kind: 'views', deviceIds: ids }, after: positions, partitions } as const
        const views = await owners.ask(owner, share)
        return ids.map((id, i) => [id, views[i]] as const)
      })
      const found = new Map((await Promise.all(answers)).flat())
      return deviceIds.map((id) => found.get(id))
    }
    case 'children': {
      const shares = grouped(owners.partitions, owners.ownerOf)
      const answers = [...shares].map(([owner, partitions]) =>
        owners.ask(owner, { ask, after: [], partitions }),
      )
      return (await Promise.all(answers)).flat()
    }
    case 'snapshot':
    case 'metrics':
    case 'shadow':
    case 'commands': {
      const partition = partitionOf(ask.deviceId)
      return owners.ask(owners.ownerOf(partition), { ask, after, partitions: [partition] })
    }
    default:
      return unreachable(ask)
  }
}
