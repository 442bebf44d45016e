import type { ComponentChildren } from 'preact'

interface EmptyProps {
  readonly title: string
  /** One sentence that says why it is so, or what to do next. */
  readonly hint?: string
  readonly children?: ComponentChildren
}

/** An empty view says in one sentence why, and what to do next (D12). */
export function Empty({ title, hint, children }: EmptyProps) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {hint !== undefined && <p>{hint}</p>}
      {children}
    </div>
  )
}
