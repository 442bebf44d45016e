// The stored commits of a log, from oldest to newest, and the two searches every log needs over them.
import { firstWhere } from '../../../domain/first-where.ts'
import type { LogSize, Positions } from '../../../ports/log.ts'
import type { Commit, CommitHead } from './commit.ts'

export interface Commits {
  /** Number of the oldest stored commit, or `last + 1` if there is none. */
  readonly first: number
  /** Number of the newest durable commit, or 0 if there never was one. */
  readonly last: number
  head(number: number): CommitHead
  commit(number: number): Commit
}

export interface Retention {
  readonly bytesMax: number
  readonly retentionMs: number
}

/** The first commit with an entry after `from` in one of these partitions, or `last + 1`. */
export function findStart(commits: Commits, partitions: readonly number[], from: Positions): number {
  return firstWhere(commits.first, commits.last + 1, (number) => {
    const { ends } = commits.head(number)
    return partitions.some((p) => (ends[p] ?? 0) > (from[p] ?? 0))
  })
}

/** Bytes on disk of all stored commits. */
export function storedBytes(commits: Commits, bytesBefore: number): number {
  return commits.last < commits.first ? 0 : commits.head(commits.last).bytesUpTo - bytesBefore
}

export function sizeOf(
  commits: Commits,
  { bytesBefore, bytesMax }: { readonly bytesBefore: number; readonly bytesMax: number },
): LogSize {
  const oldestAt = commits.last < commits.first ? undefined : commits.head(commits.first).latestAt
  return { bytes: storedBytes(commits, bytesBefore), bytesMax, oldestAt }
}

/** The first commit that must stay. All earlier ones are settled, and either too old or among the oldest `excess`
 *  bytes. The newest always stays, because it preserves the log's ends across a restart. */
export function firstKeptCommit(
  commits: Commits,
  settled: Positions,
  { bytesBefore, excess, retentionMs }: { bytesBefore: number; excess: number; retentionMs: number },
): number {
  const { first, last } = commits
  if (last <= first) return first
  const isOpen = (number: number) => commits.head(number).ends.some((end, p) => end > (settled[p] ?? 0))
  const newest = commits.head(last)
  const oldest = newest.latestAt - retentionMs * 1000
  const isYoung = (number: number) => commits.head(number).latestAt >= oldest
  // Trims a little more than needed, so that not every append has to trim.
  const upTo = bytesBefore + excess + (newest.bytesUpTo - bytesBefore) / 16
  const fits = (number: number) =>
    excess <= 0 || (number > first && commits.head(number - 1).bytesUpTo >= upTo)
  return firstWhere(first, last, (number) => isOpen(number) || (isYoung(number) && fits(number)))
}
