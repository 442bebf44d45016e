import type { ComponentType, VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ProblemCard } from './problem-card.tsx'

/** A part that is loaded once it is first shown: whoever never opens it loads nothing of it. */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  /** What stands in its place until it is there. */
  meanwhile: VNode | null = null,
): ComponentType<Props> {
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
    return Part === undefined ? meanwhile : <Part {...props} />
  }
}
