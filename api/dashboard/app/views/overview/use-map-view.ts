// Moves the window over the map: by wheel and keys, by dragging with a mouse, and by one finger or two. The address follows
// once it rests.
import { type Signal, useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { text } from '../../address/codecs.ts'
import {
  draggedView,
  type MapView,
  readView,
  type Size,
  type Spot,
  WHOLE_MAP,
  writeView,
  zoomedView,
} from '../../fleet/map-view.ts'
import { queryValue } from '../../navigation/navigation.ts'

/** A browser takes only so many changes of its address a second. */
const REST_MS = 300
const WHEEL_STEP = 1.0015
/** A pointer that moved less than this was a click. */
const CLICK_PX = 4

type Drag = 'none' | 'under way' | 'over'

/** Two corners of the window. */
export interface Box {
  readonly from: Spot
  readonly to: Spot
}

const viewValue = queryValue('zoom', text('', 60))

export interface MapWindow {
  readonly view: Signal<MapView>
  /** What is being chosen by dragging with Shift. */
  readonly box: Signal<Box | undefined>
  /** True from when a drag began until after its click: it is no click on a cell. */
  readonly isDragging: () => boolean
  /** `at` is the middle of the window if it is left out. */
  readonly zoom: (factor: number, at?: Spot) => void
  readonly show: (view: MapView) => void
  readonly whole: () => void
}

export function useMapView(
  frame: RefObject<HTMLElement | null>,
  size: Size | undefined,
  onBox: (box: Box) => void,
): MapWindow {
  const view = useSignal<MapView>(WHOLE_MAP)
  const box = useSignal<Box | undefined>(undefined)
  const newest = useRef(onBox)
  newest.current = onBox
  const inAddress = viewValue.value
  useEffect(() => {
    if (size !== undefined) view.value = readView(inAddress, size)
  }, [inAddress, size?.width, size?.height])
  const drag = useSignal<Drag>('none')
  useEffect(() => {
    const element = frame.current
    if (element === null || size === undefined) return
    const [width, height] = [size.width, size.height]
    const hand = new Hand(element, { size: { width, height }, view, drag, box, onBox: newest })
    return () => hand.letGo()
  }, [frame.current, size?.width, size?.height])
  useEffect(() => {
    if (size === undefined) return
    let timer: number | undefined
    const stop = view.subscribe(() => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        const next = writeView(view.peek(), size)
        if (next !== viewValue.value) viewValue.set(next)
      }, REST_MS)
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [size?.width, size?.height])
  return {
    view,
    box,
    isDragging: () => drag.peek() !== 'none',
    zoom(factor, at) {
      if (size === undefined) return
      const middle = { x: size.width / 2, y: size.height / 2 }
      view.value = zoomedView(view.peek(), factor, { at: at ?? middle, size })
    },
    show(next) {
      view.value = next
    },
    whole() {
      view.value = WHOLE_MAP
    },
  }
}

interface MapSurface {
  readonly size: Size
  readonly view: Signal<MapView>
  readonly drag: Signal<Drag>
  readonly box: Signal<Box | undefined>
  readonly onBox: RefObject<(box: Box) => void>
}

/** What holds the map: a wheel, a mouse, or up to two fingers. */
class Hand {
  readonly #element: HTMLElement
  readonly #size: Size
  readonly #view: Signal<MapView>
  readonly #drag: Signal<Drag>
  readonly #box: Signal<Box | undefined>
  readonly #onBox: RefObject<(box: Box) => void>
  readonly #fingers = new Map<number, Spot>()
  readonly #ended = new AbortController()
  #began: Spot | undefined

  constructor(element: HTMLElement, { size, view, drag, box, onBox }: MapSurface) {
    this.#element = element
    this.#size = size
    this.#view = view
    this.#drag = drag
    this.#box = box
    this.#onBox = onBox
    const { signal } = this.#ended
    element.addEventListener('wheel', (event) => this.#wheel(event), { passive: false, signal })
    element.addEventListener('pointerdown', (event) => this.#down(event), { signal })
    element.addEventListener('pointermove', (event) => this.#move(event), { signal })
    for (const name of ['pointerup', 'pointercancel'] as const)
      element.addEventListener(name, (event) => this.#up(event), { signal })
  }

  letGo(): void {
    this.#ended.abort()
  }

  #wheel(event: WheelEvent): void {
    // A map that is seen as a whole does not hold up who scrolls on past it.
    if (event.deltaY > 0 && this.#view.peek().zoom === 1) return
    event.preventDefault()
    const factor = WHEEL_STEP ** -event.deltaY
    this.#view.value = zoomedView(this.#view.peek(), factor, { at: this.#spotOf(event), size: this.#size })
  }

  #down(event: PointerEvent): void {
    if (event.button !== 0) return
    this.#fingers.set(event.pointerId, this.#spotOf(event))
    this.#began = this.#spotOf(event)
    if (event.shiftKey) this.#box.value = { from: this.#began, to: this.#began }
    if (this.#drag.peek() === 'over') this.#drag.value = 'none'
  }

  #move(event: PointerEvent): void {
    const before = this.#fingers.get(event.pointerId)
    if (before === undefined) return
    const at = this.#spotOf(event)
    const began = this.#began ?? at
    const isFar = Math.hypot(at.x - began.x, at.y - began.y) >= CLICK_PX
    const isBox = this.#box.peek() !== undefined
    const isMovable = isBox || this.#view.peek().zoom > 1 || this.#fingers.size > 1
    if (this.#drag.peek() === 'none' && !(isFar && isMovable)) return
    if (this.#drag.peek() === 'none') {
      this.#drag.value = 'under way'
      this.#element.setPointerCapture(event.pointerId)
    }
    if (isBox) {
      this.#box.value = { from: began, to: at }
      return
    }
    const other = [...this.#fingers].find(([id]) => id !== event.pointerId)?.[1]
    this.#fingers.set(event.pointerId, at)
    const view = this.#view.peek()
    const by = { x: at.x - before.x, y: at.y - before.y }
    if (other === undefined) {
      this.#view.value = draggedView(view, by, this.#size)
      return
    }
    const apart = (from: Spot) => Math.max(1, Math.hypot(from.x - other.x, from.y - other.y))
    const middle = { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 }
    const pinched = zoomedView(view, apart(at) / apart(before), { at: middle, size: this.#size })
    this.#view.value = draggedView(pinched, { x: by.x / 2, y: by.y / 2 }, this.#size)
  }

  #up(event: PointerEvent): void {
    this.#fingers.delete(event.pointerId)
    const box = this.#box.peek()
    this.#box.value = undefined
    if (box !== undefined && event.type === 'pointerup' && this.#drag.peek() === 'under way')
      this.#onBox.current?.(box)
    if (this.#fingers.size > 0 || this.#drag.peek() !== 'under way') return
    this.#drag.value = 'over'
    // The click of this drag comes first.
    setTimeout(() => {
      if (this.#drag.peek() === 'over') this.#drag.value = 'none'
    }, 0)
  }

  #spotOf({ clientX, clientY }: MouseEvent): Spot {
    const { left, top } = this.#element.getBoundingClientRect()
    return { x: clientX - left, y: clientY - top }
  }
}
