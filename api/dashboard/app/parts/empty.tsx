import type { ComponentChildren } from 'preact'

/** An empty view says in one sentence why, and what to do next (D12). */
export function Empty({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  )
}
