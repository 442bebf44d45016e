// A small line without axes: how a value moved. The number beside it says what it is, so that it is decoration only.
import { useEffect, useRef } from 'preact/hooks'
import { colourReader, useTheme } from './colours.ts'

const KNOWN_MIN = 3

export interface SparkProps {
  /** Null is a gap. */
  readonly values: readonly (number | null | undefined)[]
  readonly width?: number
  readonly height?: number
}

export function Spark({ values, width = 120, height = 28 }: SparkProps) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const theme = useTheme()
  useEffect(() => {
    const element = canvas.current
    const context = element?.getContext('2d')
    if (element == null || context == null) return
    const ratio = devicePixelRatio
    element.width = width * ratio
    element.height = height * ratio
    context.scale(ratio, ratio)
    context.strokeStyle = colourReader(element)('--series-1')
    context.lineWidth = 1.5
    context.stroke(pathOf(values, width, height))
  }, [values, width, height, theme])
  return (
    <span class="spark" aria-hidden="true">
      <canvas ref={canvas} style={{ inlineSize: `${width}px`, blockSize: `${height}px` }} />
    </span>
  )
}

function pathOf(values: SparkProps['values'], width: number, height: number): Path2D {
  const known = values.filter((value) => typeof value === 'number')
  // Two points make a slope that says nothing.
  if (known.length < KNOWN_MIN) return new Path2D()
  const low = known.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY)
  const high = known.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY)
  const path = new Path2D()
  let isDown = false
  values.forEach((value, index) => {
    if (typeof value !== 'number') {
      isDown = false
      return
    }
    const x = values.length < 2 ? width / 2 : (index / (values.length - 1)) * (width - 2) + 1
    // A value that never moved is a line through the middle.
    const y = high === low ? height / 2 : height - 2 - ((value - low) / (high - low)) * (height - 4)
    if (isDown) path.lineTo(x, y)
    else {
      path.moveTo(x, y)
      path.lineTo(x + 0.5, y)
    }
    isDown = true
  })
  return path
}
