import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'

export interface MenuProps {
  /** What the button says. */
  readonly name: ComponentChildren
  /** Links and buttons, one a line. */
  readonly children: ComponentChildren
}

/** Links and buttons behind one button. It closes with what was chosen, on Esc, and when the focus goes elsewhere. */
export function Menu({ name, children }: MenuProps) {
  const menu = useRef<HTMLDetailsElement>(null)
  const close = () => menu.current?.removeAttribute('open')
  return (
    <details
      ref={menu}
      class="menu"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || menu.current?.open !== true) return
        event.stopPropagation()
        close()
        menu.current.querySelector('summary')?.focus()
      }}
      onFocusOut={({ currentTarget, relatedTarget }) => {
        if (relatedTarget instanceof Node && !currentTarget.contains(relatedTarget)) close()
      }}
    >
      <summary class="button">{name}</summary>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: what is in it has its own keys, which click. */}
      <ul class="menu-list" onClick={close}>
        {children}
      </ul>
    </details>
  )
}
