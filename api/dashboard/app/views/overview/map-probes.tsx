// The fills of a map as the browser shows them now: the tokens depend on the theme, and a canvas needs numbers.
import { FILL_NAMES, type Fills } from './map-colours.ts'

export function MapProbes() {
  return (
    <div class="map-probes" aria-hidden="true">
      {FILL_NAMES.map((name) => (
        <span key={name} class={`map-fill-${name}`} />
      ))}
    </div>
  )
}

/** `frame` holds the probes. */
export function fillsOf(frame: HTMLElement): Fills {
  const entries = FILL_NAMES.map((name) => {
    const probe = frame.querySelector(`.map-probes .map-fill-${name}`)
    const colour = probe === null ? '' : getComputedStyle(probe).backgroundColor
    const [red = 0, green = 0, blue = 0] = rgbOf(colour)
    return [name, [red, green, blue]]
  })
  // Every name has its entry.
  return Object.fromEntries(entries) as Fills
}

/** Mixed colours come as shares of one, others as bytes. */
function rgbOf(colour: string): readonly number[] {
  const numbers = (colour.replace('color(srgb', '').match(/[\d.]+/g) ?? []).map(Number)
  return colour.startsWith('color(') ? numbers.map((share) => Math.round(share * 255)) : numbers
}
