// What the leader counts of a deployment: its jobs on all shards, by stage.
import { type DeviceId, Millis } from '../../../schemas/ids.ts'
import type { Deployment, JobCounts } from './deployment.ts'
import type { JobTally, RollbackCandidate, SlotHolder, StartCandidate } from './tally.ts'

export interface StageCount {
  readonly counts: JobCounts
  readonly succeeded: number
  readonly failed: number
  readonly offline: readonly DeviceId[]
  readonly inError: readonly DeviceId[]
  readonly offlineCount: number
  readonly inErrorCount: number
  readonly alerting: { readonly warning: readonly DeviceId[]; readonly critical: readonly DeviceId[] }
  readonly proved: readonly RollbackCandidate[]
  readonly lastSuccessAt: Millis | undefined
  readonly ready: number
  readonly candidates: readonly StartCandidate[]
}

export interface DeploymentCount {
  readonly stages: readonly StageCount[]
  readonly counts: JobCounts
  readonly held: JobTally['held']
  readonly succeeded: number
  readonly failed: number
  readonly due: number
  readonly unfinished: number
  readonly holders: readonly SlotHolder[]
  readonly returners: readonly RollbackCandidate[]
  readonly stoppable: readonly DeviceId[]
  readonly movedAt: number
}

export function countOf(
  { id, stages }: Pick<Deployment, 'id' | 'stages'>,
  tallies: readonly JobTally[],
): DeploymentCount {
  const own = tallies.filter(({ deploymentId }) => deploymentId === id)
  const sum = (pick: (tally: JobTally) => number, of: readonly JobTally[] = own) =>
    of.reduce((total, tally) => total + pick(tally), 0)
  return {
    stages: stages.map((_, stage): StageCount => {
      const of = own.filter((tally) => tally.stage === stage)
      const times = of.flatMap(({ lastSuccessAt }) => lastSuccessAt ?? [])
      return {
        counts: mergeCounts(of.map(({ counts }) => counts)),
        succeeded: sum(({ succeeded }) => succeeded, of),
        failed: sum(({ failed }) => failed, of),
        offline: of.flatMap(({ offline }) => offline),
        inError: of.flatMap(({ inError }) => inError),
        offlineCount: sum(({ offlineCount }) => offlineCount, of),
        inErrorCount: sum(({ inErrorCount }) => inErrorCount, of),
        alerting: {
          warning: of.flatMap(({ alerting }) => alerting.warning),
          critical: of.flatMap(({ alerting }) => alerting.critical),
        },
        proved: of.flatMap(({ proved }) => proved),
        lastSuccessAt: times.length === 0 ? undefined : Millis(Math.max(...times)),
        ready: sum(({ ready }) => ready, of),
        candidates: of.flatMap(({ candidates }) => candidates),
      }
    }),
    counts: mergeCounts(own.map(({ counts }) => counts)),
    held: mergeCounts(own.map(({ held }) => held)),
    succeeded: sum(({ succeeded }) => succeeded),
    failed: sum(({ failed }) => failed),
    due: sum(({ due }) => due),
    unfinished: sum(({ unfinished }) => unfinished),
    holders: own.flatMap(({ holders }) => holders),
    returners: own.flatMap(({ returners }) => returners),
    stoppable: own.flatMap(({ stoppable }) => stoppable),
    movedAt: Math.max(0, ...own.map(({ movedAt }) => movedAt)),
  }
}

function mergeCounts<Key extends string>(
  all: readonly Readonly<Partial<Record<Key, number>>>[],
): Readonly<Partial<Record<Key, number>>> {
  const sum: Partial<Record<Key, number>> = {}
  // The keys of an object of this type.
  for (const one of all)
    for (const key of Object.keys(one) as Key[]) sum[key] = (sum[key] ?? 0) + (one[key] ?? 0)
  return sum
}
