// The colours of the tokens as a canvas needs them: resolved for the theme of the moment.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

export const SERIES = [
  '--series-1',
  '--series-2',
  '--series-3',
  '--series-4',
  '--series-5',
  '--series-6',
] as const

/** Grows when the theme changes: what is drawn has to be drawn anew. */
const themeRevision = signal(0)

/** Follows the theme while something is drawn. */
export function useTheme(): number {
  useEffect(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const grow = () => {
      themeRevision.value += 1
    }
    const watch = new MutationObserver(grow)
    watch.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    dark.addEventListener('change', grow)
    return () => {
      watch.disconnect()
      dark.removeEventListener('change', grow)
    }
  }, [])
  return themeRevision.value
}

/** Reads tokens where they apply: `light-dark()` is resolved in the colour of an element only. */
export function colourReader(element: HTMLElement): (token: string) => string {
  const read = new Map<string, string>()
  return (token) => {
    const known = read.get(token)
    if (known !== undefined) return known
    const before = element.style.color
    element.style.color = `var(${token})`
    const colour = getComputedStyle(element).color
    element.style.color = before
    read.set(token, colour)
    return colour
  }
}

/** The same colour, let through. */
export function faint(colour: string, share: number): string {
  const [, parts] = /^rgb\((.+)\)$/.exec(colour) ?? []
  return parts === undefined ? colour : `rgb(${parts} / ${share * 100}%)`.replaceAll(',', ' ')
}
