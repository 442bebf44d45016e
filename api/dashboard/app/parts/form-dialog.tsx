import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import type { Write } from '../data/writes.ts'
import { words } from '../words/words.ts'
import { Button, type ButtonProps } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { ProblemCard } from './problem-card.tsx'
import { submits } from './submits.ts'

const t = words({})

export interface FormDialogProps {
  readonly title: string
  /** The button's text: the effect, not "OK". */
  readonly action: string
  readonly kind?: ButtonProps['kind']
  readonly write: Write<[]>
  readonly disabledBecause?: string | undefined
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** A form over the page, with one thing to do, and the way back. It stays when that fails, with the reason. */
export function FormDialog(props: FormDialogProps) {
  const { title, action, kind = 'primary', write, disabledBecause, onClose, children } = props
  const id = useId()
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t('back')}</Button>
          <Button type="submit" form={id} {...{ kind, write, disabledBecause }}>
            {action}
          </Button>
        </>
      }
    >
      <form
        id={id}
        class="stack"
        noValidate
        onSubmit={submits(() => disabledBecause === undefined && write.run())}
      >
        {children}
        <ProblemCard error={write.error.value} />
      </form>
    </Dialog>
  )
}
