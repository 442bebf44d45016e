import type { ComponentChildren } from 'preact'
import type { IconName } from '../../build/icons.ts'
import { Icon } from './icon.tsx'

export interface ButtonProps {
  readonly children?: ComponentChildren
  readonly onClick?: (event: MouseEvent) => void
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet'
  readonly type?: 'button' | 'submit'
  readonly icon?: IconName
  /** The name of a button that shows an icon only. */
  readonly label?: string
  /** Why it cannot be used now. It can still be focused, so that the reason can be read (D7). */
  readonly disabledBecause?: string | undefined
  readonly isBusy?: boolean
  readonly shortcut?: string
  readonly form?: string
}

export function Button(props: ButtonProps) {
  const {
    children,
    onClick,
    kind = 'plain',
    type = 'button',
    icon,
    label,
    disabledBecause,
    isBusy,
    shortcut,
    form,
  } = props
  const isDisabled = disabledBecause !== undefined || isBusy === true
  return (
    <button
      type={type}
      form={form}
      class={`button button-${kind}`}
      aria-label={label}
      title={disabledBecause ?? label}
      aria-disabled={isDisabled ? 'true' : undefined}
      aria-busy={isBusy === true ? 'true' : undefined}
      aria-keyshortcuts={shortcut}
      onClick={(event) => {
        if (isDisabled) event.preventDefault()
        else onClick?.(event)
      }}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  )
}
