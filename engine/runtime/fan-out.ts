// Splits a question by the owners of the devices it is about, and joins their answers. An owner is a shard of this node
// or another node.
import type { Partition } from '../../schemas/ids.ts'
import { mergeAlertCounts, mergeMatches } from '../domain/alert/alert-results.ts'
import { mergeFleetCounts } from '../domain/alert/fleet-counts.ts'
import { type KeptCommand, newestOf } from '../domain/command/kept-commands.ts'
import { partitionOf } from '../domain/partition.ts'
import { unreachable } from '../domain/unreachable.ts'
import type { AlertCounts, AlertMatches } from '../ports/alerts.ts'
import { grouped } from './grouped.ts'
import type { Answer, AnswerOf, Ask, Position } from './shard/protocol.ts'

export interface Owners<Owner> {
  /** The partitions that a question about all devices concerns. */
  readonly partitions: Iterable<Partition>
  /** Throws a `NOT_OWNED` fault if the partition has no owner. */
  readonly ownerOf: (partition: Partition) => Owner
  /** `partitions`: the partitions the question is about. This owner has all of them. */
  readonly ask: <A extends Ask>(owner: Owner, question: Question<A>) => Promise<AnswerOf<A>>
}

export interface Question<A extends Ask = Ask> {
  readonly ask: A
  /** The answer includes everything up to and including these positions. */
  readonly after: readonly Position[]
  readonly partitions: readonly Partition[]
}

/** Asks all owners at once. If one of them fails, so does the whole question. */
export function fanOut<Owner, A extends Ask>(
  owners: Owners<Owner>,
  { ask, after }: Omit<Question<A>, 'partitions'>,
): Promise<AnswerOf<A>> {
  // Each branch of `answerOf` answers its own kind of question, but a switch over a type parameter loses that type.
  return answerOf(owners, ask, after) as Promise<AnswerOf<A>>
}

async function answerOf<Owner>(owners: Owners<Owner>, ask: Ask, after: readonly Position[]): Promise<Answer> {
  switch (ask.kind) {
    case 'firmware':
    case 'views': {
      const { deviceIds, kind } = ask
      const shares = grouped(deviceIds, (id) => owners.ownerOf(partitionOf(id)))
      const answers = [...shares].map(async ([owner, ids]) => {
        const partitions = [...new Set(ids.map(partitionOf))]
        const positions = after.filter(({ partition }) => partitions.includes(partition))
        const share = { ask: { kind, deviceIds: ids }, after: positions, partitions } as const
        const views: readonly unknown[] = await owners.ask(owner, share)
        return ids.map((id, i) => [id, views[i]] as const)
      })
      const found = new Map((await Promise.all(answers)).flat())
      // Each view is of the kind that was asked for.
      return deviceIds.map((id) => found.get(id)) as Answer
    }
    case 'latest': {
      const { deviceIds } = ask
      if (deviceIds === undefined) return await fromAll(owners, ask)
      const shares = grouped(deviceIds, (id) => owners.ownerOf(partitionOf(id)))
      const answers = [...shares].map(([owner, ids]) => {
        const partitions = [...new Set(ids.map(partitionOf))]
        const positions = after.filter(({ partition }) => partitions.includes(partition))
        return owners.ask(owner, { ask: { ...ask, deviceIds: ids }, after: positions, partitions })
      })
      return (await Promise.all(answers)).flat()
    }
    case 'jobs':
    case 'fleet':
    case 'children':
      return await fromAll(owners, ask)
    case 'kept_commands': {
      const { deviceId, limit } = ask.query
      const partitions = deviceId === undefined ? owners.partitions : [partitionOf(deviceId)]
      const answers = await askAll(owners, { ask, after }, partitions)
      // These are answers to `kept_commands`.
      return newestOf(answers.flat() as readonly KeptCommand[], limit)
    }
    case 'named_commands': {
      const partitions = new Set(ask.commands.map(({ deviceId }) => partitionOf(deviceId)))
      const answers = await askAll(owners, { ask, after }, partitions)
      // These are answers to `named_commands`.
      return answers.flat() as Answer
    }
    case 'fleet_counts': {
      const shares = grouped(owners.partitions, owners.ownerOf)
      const answers = [...shares].map(([owner, partitions]) =>
        owners.ask(owner, { ask, after: [], partitions }),
      )
      return mergeFleetCounts(await Promise.all(answers))
    }
    case 'alerts':
    case 'alert_counts': {
      const { deviceId = undefined } = ask.kind === 'alerts' ? ask.query : {}
      const partitions = deviceId === undefined ? owners.partitions : [partitionOf(deviceId)]
      const answers = await askAll(owners, { ask, after }, partitions)
      // These are answers to `ask.kind`.
      if (ask.kind === 'alerts') return mergeMatches(answers as readonly AlertMatches[], ask.query)
      return mergeAlertCounts(answers as readonly AlertCounts[])
    }
    case 'snapshot':
    case 'metrics':
    case 'shadow':
    case 'commands': {
      // If there is a position, the caller has already worked out the device's partition.
      const partition = after[0]?.partition ?? partitionOf(ask.deviceId)
      return owners.ask(owners.ownerOf(partition), { ask, after, partitions: [partition] })
    }
    default:
      return unreachable(ask)
  }
}

/** Asks every owner of these partitions the same question, each with its own positions from `after`. */
function askAll<Owner>(
  owners: Owners<Owner>,
  { ask, after }: Omit<Question, 'partitions'>,
  partitions: Iterable<Partition>,
): Promise<readonly Answer[]> {
  return Promise.all(
    [...grouped(partitions, owners.ownerOf)].map(([owner, own]) => {
      const positions = after.filter(({ partition }) => own.includes(partition))
      return owners.ask(owner, { ask, after: positions, partitions: own })
    }),
  )
}

/** Does not wait for positions: what is asked about exists once the requests that created it are answered. */
async function fromAll<Owner>(owners: Owners<Owner>, ask: Ask): Promise<Answer> {
  const answers = await askAll(owners, { ask, after: [] }, owners.partitions)
  // These are answers to `ask.kind`.
  return answers.flat() as Answer
}
