import { useEffect } from 'preact/hooks'
import { useAnswer } from '../data/answers.ts'
import { words } from '../words/words.ts'
import { SelectField } from './select-field.tsx'

const t = words({})

export interface TypeFieldProps {
  readonly value: string
  readonly onValue: (type: string) => void
}

/** A choice of the device types that this service knows; the first one in place of a type that it does not. */
export function TypeField({ value, onValue }: TypeFieldProps) {
  const types = useAnswer('listDeviceTypes', {}).data?.data
  useEffect(() => {
    const [first] = types ?? []
    if (first !== undefined && types?.some(({ name }) => name === value) === false) onValue(first.name)
  }, [types, value])
  const options = types?.map(({ name, display_name }) => [name, display_name] as const) ?? [[value, value]]
  return <SelectField label={t('deviceType')} value={value} options={options} onValue={onValue} />
}
