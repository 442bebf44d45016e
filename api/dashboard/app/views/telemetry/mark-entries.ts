// The entries of a timeline that are marked on charts. Most entries of a busy device are none, so the pages are read on until there
// are enough marks.
import type { FeedPage } from '../../data/feed.ts'

export const ENTRIES_PER_PAGE = 200
/** More marks would cover the charts. */
const MARKS_MAX = 100
const PAGES_MAX = 5

interface MarkableEntry {
  readonly kind: string
  readonly data: Readonly<Record<string, unknown>>
}

export interface MarkEntries<Entry> {
  /** The newest first. */
  readonly entries: readonly Entry[]
  /** There may be older ones. */
  readonly isCut: boolean
}

export async function readMarkEntries<Entry extends MarkableEntry>(
  read: (cursor: string | undefined) => Promise<FeedPage<Entry>>,
): Promise<MarkEntries<Entry>> {
  const entries: Entry[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < PAGES_MAX && entries.length <= MARKS_MAX; pages++) {
    const page = await read(cursor)
    entries.push(...page.data.filter(isMark))
    if (page.next_cursor === null) {
      cursor = undefined
      break
    }
    cursor = page.next_cursor
  }
  return {
    entries: entries.slice(0, MARKS_MAX),
    isCut: cursor !== undefined || entries.length > MARKS_MAX,
  }
}

/** A command is marked once, where it was sent, and what a device reports changes nothing that was wanted. */
export function isMark({ kind, data }: MarkableEntry): boolean {
  if (kind === 'command') return data['status'] === 'pending'
  return kind !== 'shadow' || data['section'] === 'desired'
}
