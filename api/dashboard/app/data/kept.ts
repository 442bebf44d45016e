// An answer that stays on the page while a newer one of the same shape is asked for.
import { useEffect, useRef, useState } from 'preact/hooks'

export interface Kept<Data> {
  readonly data: Data | undefined
  readonly error: unknown
  readonly isLoading: boolean
}

export interface KeepOptions {
  /** Another shape is about something else: the earlier data goes. */
  readonly shape: string
  /** Another number asks again. */
  readonly revision: number
}

const NOTHING = { data: undefined, error: undefined, isLoading: false } as const

/** `key` says all that `load` depends on. */
export function useKept<Data>(
  key: string,
  { shape, revision }: KeepOptions,
  load: (signal: AbortSignal) => Promise<Data>,
): Kept<Data> {
  const [state, setState] = useState<Kept<Data> & { readonly shape: string }>({ ...NOTHING, shape })
  const asked = useRef(0)
  useEffect(() => {
    asked.current += 1
    const mine = asked.current
    const abort = new AbortController()
    setState((before) => ({ ...(before.shape === shape ? before : NOTHING), isLoading: true, shape }))
    load(abort.signal).then(
      (data) => {
        if (mine === asked.current) setState({ data, error: undefined, isLoading: false, shape })
      },
      (error: unknown) => {
        if (mine === asked.current && !abort.signal.aborted)
          setState((before) => ({ ...before, error, isLoading: false }))
      },
    )
    return () => abort.abort()
  }, [key, shape, revision])
  return state.shape === shape ? state : { ...NOTHING, isLoading: true }
}
