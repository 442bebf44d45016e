import type { Box } from './use-map-view.ts'

/** What is being chosen by dragging over a map. */
export function MapBox({ box: { from, to } }: { readonly box: Box }) {
  return (
    <span
      class="map-box"
      style={{
        transform: `translate(${Math.min(from.x, to.x)}px, ${Math.min(from.y, to.y)}px)`,
        inlineSize: `${Math.abs(to.x - from.x)}px`,
        blockSize: `${Math.abs(to.y - from.y)}px`,
      }}
    />
  )
}
