import type { ComponentChildren } from 'preact'
import type { IconName } from '../../build/icons.ts'
import type { Write } from '../data/writes.ts'
import { connection } from '../live/live.ts'
import { words } from '../words/words.ts'
import { Icon } from './icon.tsx'

const t = words({
  away: ['Not connected to the service.', 'Es gibt keine Verbindung zum Dienst.'],
})

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
  /** What it does at the service: it waits for its end, and cannot begin without a connection. */
  readonly write?: Pick<Write<[]>, 'isUnderWay'>
  readonly shortcut?: string
  readonly form?: string
  /** Whether what it unfolds is there. */
  readonly isExpanded?: boolean
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
    write,
    isBusy = write?.isUnderWay.value,
    shortcut,
    form,
    isExpanded,
  } = props
  const reason = disabledBecause ?? (write === undefined ? undefined : awayReason())
  const isDisabled = reason !== undefined || isBusy === true
  return (
    <button
      type={type}
      form={form}
      class={`button button-${kind}`}
      aria-label={label}
      title={reason ?? label}
      aria-disabled={isDisabled ? 'true' : undefined}
      aria-busy={isBusy === true ? 'true' : undefined}
      aria-keyshortcuts={shortcut}
      aria-expanded={isExpanded}
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

const awayReason = () => (connection.value.state === 'away' ? t('away') : undefined)
