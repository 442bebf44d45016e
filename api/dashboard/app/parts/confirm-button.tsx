import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button, type ButtonProps } from './button.tsx'
import { ConfirmAction, type ConfirmActionProps } from './confirm-action.tsx'

export interface ConfirmButtonProps
  extends Pick<ButtonProps, 'kind' | 'icon' | 'label' | 'disabledBecause'>,
    Pick<ConfirmActionProps, 'title' | 'action' | 'typed' | 'onConfirm'> {
  /** The button's text, if it is not the action itself. */
  readonly name?: string
  /** What the action does, to how many, and what stays. */
  readonly children: ComponentChildren
}

/** A button that shows the effect before anything is done (D6). One with a label shows its icon only. */
export function ConfirmButton(props: ConfirmButtonProps) {
  const { name, children, title, action, typed, onConfirm, ...button } = props
  const [isAsked, setAsked] = useState(false)
  return (
    <>
      <Button {...button} onClick={() => setAsked(true)}>
        {button.label === undefined && (name ?? action)}
      </Button>
      {isAsked && (
        <ConfirmAction
          action={action}
          {...(title === undefined ? {} : { title })}
          {...(typed === undefined ? {} : { typed })}
          onConfirm={onConfirm}
          onClose={() => setAsked(false)}
        >
          {children}
        </ConfirmAction>
      )}
    </>
  )
}
