// A swipe to the side with one finger. Whatever it does has a button beside it (WCAG 2.5.1).

interface SwipeAim {
  readonly target: EventTarget | null
  readonly isRight: boolean
}

const FAR_PX = 56
/** A swipe is that many times as wide as high, or it was a scroll. */
const LEVEL = 2

/** Returns what ends it. The element needs `touch-action: pan-y`, or the browser takes the finger. */
export function followSwipes(element: HTMLElement, onSwipe: (swiped: SwipeAim) => void): () => void {
  const ended = new AbortController()
  let began: PointerEvent | undefined
  const on = (name: 'pointerdown' | 'pointerup' | 'pointercancel', run: (event: PointerEvent) => void) =>
    element.addEventListener(name, run, { signal: ended.signal })
  on('pointerdown', (event) => {
    began = event.pointerType === 'touch' && event.isPrimary ? event : undefined
  })
  on('pointerup', (event) => {
    if (began?.pointerId !== event.pointerId) return
    const [x, y] = [event.clientX - began.clientX, event.clientY - began.clientY]
    if (Math.abs(x) >= FAR_PX && Math.abs(x) >= Math.abs(y) * LEVEL)
      onSwipe({ target: began.target, isRight: x > 0 })
    began = undefined
  })
  on('pointercancel', () => {
    began = undefined
  })
  return () => ended.abort()
}
