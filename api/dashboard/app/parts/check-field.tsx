export interface CheckFieldProps {
  readonly label: string
  readonly isOn: boolean
  readonly onValue: (isOn: boolean) => void
}

export function CheckField({ label, isOn, onValue }: CheckFieldProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isOn}
        onChange={({ currentTarget }) => onValue(currentTarget.checked)}
      />
      {label}
    </label>
  )
}
