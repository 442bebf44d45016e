// A modal dialog: the browser's own, which keeps the focus inside, closes on Esc and gives the focus back.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'

const t = words({ close: ['Close', 'Schließen'] })

export interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  /** Buttons at its foot. */
  readonly actions?: ComponentChildren
  readonly isWide?: boolean
}

/** Open as long as it is on the page. */
export function Dialog({ title, onClose, children, actions, isWide = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class={isWide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <Button kind="quiet" icon="x" label={t('close')} onClick={onClose} />
      </header>
      <div class="dialog-body">{children}</div>
      {actions !== undefined && <footer class="dialog-foot">{actions}</footer>}
    </dialog>
  )
}
