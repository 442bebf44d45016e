// A list that only grows, newest first, read on by its cursor. A page may be shorter than asked for, even empty, while
// there is more.
import { useEffect, useRef, useState } from 'preact/hooks'
import { reconnectsCount } from './reconnects.ts'

export interface FeedPage<Entry> {
  readonly data: readonly Entry[]
  readonly next_cursor: string | null
}

export interface Feed<Entry> {
  readonly entries: readonly Entry[]
  /** Undefined until the first page is there, null at the end. */
  readonly cursor: string | null | undefined
  readonly error: unknown
  readonly isLoading: boolean
  readonly more: () => void
  readonly reload: () => void
}

type State<Entry> = Omit<Feed<Entry>, 'more' | 'reload'>

const NONE = { entries: [], cursor: undefined, error: undefined, isLoading: true } as const
/** Empty pages that are read on by themselves before a person has to ask. */
const EMPTY_PAGES_MAX = 5

/** Another `key` is another feed. */
export function useFeed<Entry>(
  key: string,
  read: (cursor: string | undefined) => Promise<FeedPage<Entry>>,
): Feed<Entry> {
  const [state, setState] = useState<State<Entry>>(NONE)
  const current = useRef(key)
  current.current = key
  const loads = useRef(0)
  /** `shown` stays until the answer comes, and when none does. */
  const load = async (before: readonly Entry[], from: string | undefined, shown: FeedContent<Entry>) => {
    loads.current += 1
    const mine = loads.current
    // The person may have gone on to another feed meanwhile, or asked for this one anew.
    const isNewest = () => current.current === key && loads.current === mine
    setState({ ...shown, error: undefined, isLoading: true })
    try {
      let page = await read(from)
      let found = page.data
      for (
        let empty = 0;
        found.length === 0 && page.next_cursor !== null && empty < EMPTY_PAGES_MAX;
        empty++
      ) {
        page = await read(page.next_cursor)
        found = page.data
      }
      if (isNewest())
        setState({
          entries: [...before, ...found],
          cursor: page.next_cursor,
          error: undefined,
          isLoading: false,
        })
    } catch (error) {
      if (isNewest()) setState({ ...shown, error, isLoading: false })
    }
  }
  useEffect(() => void load([], undefined, NONE), [key])
  const more = () => void load(state.entries, state.cursor ?? undefined, state)
  const reconnects = reconnectsCount.value
  useEffect(() => {
    if (state.error !== undefined) more()
  }, [reconnects])
  return { ...state, more, reload: () => void load([], undefined, state) }
}

type FeedContent<Entry> = Pick<State<Entry>, 'entries' | 'cursor'>
