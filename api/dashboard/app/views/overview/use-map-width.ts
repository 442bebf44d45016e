import type { RefObject } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** The width of the frame around a map, to the pixel; 0 before it stands on the page. */
export function useMapWidth(frame: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    setWidth(element.clientWidth)
    return () => observer.disconnect()
  }, [])
  return width
}
