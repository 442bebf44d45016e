// What became of a target between two looks at it.
import type { TargetPreview } from '../../../../schemas/target-preview.ts'

export interface CountChange {
  readonly name: string
  readonly from: number
  readonly to: number
}

type PreviewCount = Pick<TargetPreview, 'by_status' | 'by_type' | 'by_reason'>

/** Counts that differ, of each kind, in the order of their names. */
export function previewChanges(
  before: PreviewCount,
  after: PreviewCount,
): Readonly<Record<keyof PreviewCount, readonly CountChange[]>> {
  const of = (kind: keyof PreviewCount) =>
    [...new Set([...Object.keys(before[kind]), ...Object.keys(after[kind])])]
      .sort()
      .map((name) => ({ name, from: before[kind][name] ?? 0, to: after[kind][name] ?? 0 }))
      .filter(({ from, to }) => from !== to)
  return { by_status: of('by_status'), by_type: of('by_type'), by_reason: of('by_reason') }
}
