// The members of a deployment in the order in which pages show them. They never change, and who watches a rollout asks for
// a page every second, so each deployment's members are sorted once.
import type { DeviceId } from '../../../schemas/ids.ts'
import type { Members, OtaSkipReason } from '../../domain/ota/deployment.ts'

export interface ListedMembers {
  readonly ids: readonly DeviceId[]
  readonly skipped: ReadonlyMap<DeviceId, OtaSkipReason>
  readonly stageOf: ReadonlyMap<DeviceId, number>
}

const listed = new WeakMap<Members, ListedMembers>()

export function listedMembers(members: Members): ListedMembers {
  const known = listed.get(members)
  if (known !== undefined) return known
  const skipped = new Map(members.skipped.map(({ deviceId, reason }) => [deviceId, reason]))
  const stageOf = new Map(members.stages.flatMap((ids, stage) => ids.map((each) => [each, stage] as const)))
  const list = { ids: [...stageOf.keys(), ...skipped.keys()].sort(), skipped, stageOf }
  listed.set(members, list)
  return list
}
