// What a rollout's numbers say: the share of failures against its bound, and failures by their cause.

interface Progress {
  readonly succeeded: number
  readonly failed: number
  readonly rolled_back: number
}

/** A way back has succeeded on the devices that are back, and an update has not. */
export const failedCount = (kind: string, { failed, rolled_back }: Progress) =>
  kind === 'rollback' ? failed : failed + rolled_back

export interface FailureShare {
  /** A share of the devices that are done; undefined before the first one. */
  readonly percent: number | undefined
  readonly finishedCount: number
  readonly limitPercent: number
  /** The bound counts from so many finished devices on. */
  readonly minFinished: number
  readonly isOver: boolean
}

/** Failures count as the service counts them: among those that are done. */
export function failureShare(
  kind: string,
  progress: Progress,
  abort: Readonly<Record<string, unknown>>,
): FailureShare {
  const finishedCount = progress.succeeded + progress.failed + progress.rolled_back
  const bad = failedCount(kind, progress)
  const limitPercent = Number(abort['failure_percent'])
  const minFinished = Number(abort['min_finished'])
  const percent = finishedCount === 0 ? undefined : (100 * bad) / finishedCount
  const isOver = percent !== undefined && finishedCount >= minFinished && percent >= limitPercent
  return { percent, finishedCount, limitPercent, minFinished, isOver }
}

interface FailedJob {
  readonly error: { readonly code: string } | null
  readonly status: string
}

/** A device that says no error failed for what became of it. */
export const causeOf = ({ error, status }: FailedJob): string => error?.code ?? status

/** The most frequent cause first. */
export function failuresByCause(
  jobs: readonly FailedJob[],
): readonly { readonly cause: string; readonly count: number }[] {
  const counts = new Map<string, number>()
  for (const job of jobs) counts.set(causeOf(job), (counts.get(causeOf(job)) ?? 0) + 1)
  return [...counts]
    .map(([cause, count]) => ({ cause, count }))
    .sort((a, b) => b.count - a.count || (a.cause < b.cause ? -1 : 1))
}
