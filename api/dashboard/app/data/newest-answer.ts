// An answer that stays on the page while a newer one of the same shape is asked for.
import { useEffect, useState } from 'preact/hooks'
import { NewestRequests } from './newest-requests.ts'

export interface NewestAnswer<Data> {
  readonly data: Data | undefined
  readonly error: unknown
  readonly isLoading: boolean
}

export interface NewestAnswerOptions {
  /** Another shape is about something else: the earlier data goes. */
  readonly shape: string
  /** Another number asks again. */
  readonly revision: number
}

const NOTHING = { data: undefined, error: undefined, isLoading: false } as const

/** `key` says all that `load` depends on. */
export function useNewestAnswer<Data>(
  key: string,
  { shape, revision }: NewestAnswerOptions,
  load: (signal: AbortSignal) => Promise<Data>,
): NewestAnswer<Data> {
  const [state, setState] = useState<NewestAnswer<Data> & { readonly shape: string }>({ ...NOTHING, shape })
  const [requests] = useState(() => new NewestRequests())
  useEffect(() => {
    const mine = requests.begin(shape)
    setState((before) => ({ ...(before.shape === shape ? before : NOTHING), isLoading: true, shape }))
    load(mine.controller.signal).then(
      (data) => {
        if (requests.end(mine)) setState({ data, error: undefined, isLoading: requests.isAny, shape })
      },
      (error: unknown) => {
        if (requests.end(mine)) setState((before) => ({ ...before, error, isLoading: requests.isAny }))
      },
    )
  }, [key, shape, revision])
  useEffect(() => () => requests.stop(), [])
  return state.shape === shape ? state : { ...NOTHING, isLoading: true }
}
