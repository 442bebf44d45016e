import type { RefObject } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** Widths are rounded, so that a scroll bar that comes and goes asks for nothing new. */
const STEP_PX = 100

export function useWidth(place: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(innerWidth)
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const watch = new ResizeObserver(() =>
      setWidth(Math.max(STEP_PX, Math.round(element.clientWidth / STEP_PX) * STEP_PX)),
    )
    watch.observe(element)
    return () => watch.disconnect()
  }, [place])
  return width
}
