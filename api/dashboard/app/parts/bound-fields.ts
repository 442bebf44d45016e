import type { FieldProps } from './field.tsx'

/** The fields of a draft that are texts. */
type TextName<Draft> = { [Name in keyof Draft]: Draft[Name] extends string ? Name : never }[keyof Draft] &
  string

/** Binds fields of a form to the texts of its draft, and to the places in the body at which the service refuses them. */
export function boundFields<Draft extends object>(
  draft: Draft,
  onChange: (changes: Partial<Draft>) => void,
  error: unknown,
) {
  return (name: TextName<Draft>, pointer = `/${name}`) =>
    ({
      value: draft[name] as string,
      onValue: (text) => onChange({ [name]: text } as Partial<Draft>),
      error,
      pointer,
    }) satisfies Omit<FieldProps, 'label'>
}
