// A part that is loaded once it is first shown: whoever never opens it loads nothing of it.
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ProblemCard } from './problem-card.tsx'

export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined
  return function Later(props: Props) {
    const [failure, setFailure] = useState<unknown>(undefined)
    const [, setLoaded] = useState(loaded !== undefined)
    useEffect(() => {
      if (loaded !== undefined) return
      load().then((part) => {
        loaded = part
        setLoaded(true)
      }, setFailure)
    }, [])
    if (failure !== undefined) return <ProblemCard error={failure} onRetry={() => location.reload()} />
    const Part = loaded
    return Part === undefined ? null : <Part {...props} />
  }
}
