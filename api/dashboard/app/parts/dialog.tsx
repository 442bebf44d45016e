// A modal dialog: the browser's own, which keeps the focus inside, closes on Esc and gives the focus back.
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { useModal } from './modal.ts'

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
  const modal = useModal(onClose)
  const id = useId()
  return (
    <dialog {...modal} class={isWide ? 'dialog dialog-wide' : 'dialog'} aria-labelledby={id}>
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <Button kind="quiet" icon="x" label={t('close')} onClick={onClose} />
      </header>
      <div class="dialog-body">{children}</div>
      {actions !== undefined && <footer class="dialog-foot">{actions}</footer>}
    </dialog>
  )
}
