import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

export interface Tab {
  readonly href: string
  readonly label: ComponentChildren
  readonly isCurrent: boolean
}

/** Tabs are links: each has an address of its own. On a narrow screen they are a strip that scrolls, with the current one in
 *  sight. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  const strip = useRef<HTMLElement>(null)
  const current = tabs.find(({ isCurrent }) => isCurrent)?.href
  useEffect(() => {
    const tab = strip.current?.querySelector('[aria-current]')
    // Only the strip moves: the page stays where it is.
    if (tab instanceof HTMLElement && strip.current !== null)
      strip.current.scrollLeft = tab.offsetLeft - (strip.current.clientWidth - tab.offsetWidth) / 2
  }, [current])
  return (
    <nav class="tabs" aria-label={label} ref={strip}>
      {tabs.map(({ href, label: text, isCurrent }) => (
        <a key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  )
}
