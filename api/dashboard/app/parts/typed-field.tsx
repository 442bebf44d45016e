// A field of a value that is no text, such as a number. What is typed stays as it is: "0.0" is 0, and on the way to "0.05".
import { useState } from 'preact/hooks'
import { Field, type FieldProps } from './field.tsx'

export interface TypedFieldProps<Value> extends Omit<FieldProps, 'value' | 'onValue'> {
  readonly value: Value
  readonly read: (text: string) => Value
  readonly onRead: (value: Value) => void
}

export function TypedField<Value>({ value, read, onRead, ...field }: TypedFieldProps<Value>) {
  const [typed, setTyped] = useState(String(value ?? ''))
  return (
    <Field
      {...field}
      // Something else may have changed the value meanwhile.
      value={read(typed) === value ? typed : String(value ?? '')}
      onValue={(text) => {
        setTyped(text)
        onRead(read(text))
      }}
    />
  )
}
