export interface CheckFieldProps {
  readonly label: string
  readonly isOn: boolean
  readonly onValue: (isOn: boolean) => void
  /** Why it cannot be changed now. */
  readonly disabledBecause?: string | undefined
}

export function CheckField({ label, isOn, onValue, disabledBecause }: CheckFieldProps) {
  return (
    <label class="check" title={disabledBecause}>
      <input
        type="checkbox"
        checked={isOn}
        aria-disabled={disabledBecause === undefined ? undefined : 'true'}
        onClick={(event) => {
          // Otherwise the browser would tick it all the same.
          if (disabledBecause !== undefined) event.preventDefault()
        }}
        onChange={({ currentTarget }) => onValue(currentTarget.checked)}
      />
      {label}
    </label>
  )
}
