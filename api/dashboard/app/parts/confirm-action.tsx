// Before what cannot be undone: the effect in words, and a button that names it (D6).
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useWrite } from '../data/writes.ts'
import { words } from '../words/words.ts'
import { Field } from './field.tsx'
import { FormDialog } from './form-dialog.tsx'

const t = words({
  type: ['Type {text} to confirm', 'Geben Sie {text} ein, um fortzufahren'],
  typed: ['Type {text} first.', 'Geben Sie zuerst {text} ein.'],
})

export interface ConfirmActionProps {
  /** The button's text, if left out. */
  readonly title?: string
  /** What it does, to how many, and what stays. */
  readonly children: ComponentChildren
  /** The button's text: the effect, not "OK". */
  readonly action: string
  /** What must be typed, for effects that are large or final. */
  readonly typed?: string
  readonly onConfirm: () => Promise<unknown>
  readonly onClose: () => void
}

export function ConfirmAction({ action, title = action, ...props }: ConfirmActionProps) {
  const { children, typed, onConfirm, onClose } = props
  const [text, setText] = useState('')
  const write = useWrite(async () => {
    await onConfirm()
    onClose()
  })
  const isTyped = typed === undefined || text === typed
  return (
    <FormDialog
      kind="danger"
      disabledBecause={isTyped ? undefined : t('typed', { text: typed })}
      {...{ title, action, write, onClose }}
    >
      {children}
      {typed !== undefined && (
        <Field label={t('type', { text: typed })} value={text} onValue={setText} autocomplete="off" />
      )}
    </FormDialog>
  )
}
