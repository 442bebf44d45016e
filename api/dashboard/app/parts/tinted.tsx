import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'

/** What changes while it is looked at gets a tint for a moment; what is only scrolled into sight does not. */
export function Tinted({
  value,
  children,
}: {
  readonly value: unknown
  readonly children: ComponentChildren
}) {
  const shown = useRef({ value, changes: 0 })
  if (shown.current.value !== value) shown.current = { value, changes: shown.current.changes + 1 }
  const { changes } = shown.current
  // An animation begins anew only if its name is another one.
  return <span class={changes === 0 ? undefined : `tint-${changes % 2}`}>{children}</span>
}
