import type { ComponentChildren } from 'preact'

export interface Tab {
  readonly href: string
  readonly label: ComponentChildren
  readonly isCurrent: boolean
}

/** Tabs are links: each has an address of its own. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ href, label: text, isCurrent }) => (
        <a key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  )
}
