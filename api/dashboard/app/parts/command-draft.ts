// A command as it is written in a form, and the request that it becomes. The device type names the parameters; the service
// judges them, so what cannot be a value of its type is all that is refused here.

import type { Operations, ReplyOf } from '../../../../schemas/client/calls.ts'
import { isObject, type Json, parseJson } from '../../../../schemas/json.ts'

type TypesReply = ReplyOf<Operations['listDeviceTypes']>
export type DeviceType = TypesReply['data'][number]
export type TypeCommand = NonNullable<DeviceType['commands']>[number]
export type CommandParameter = NonNullable<TypeCommand['parameters']>[number]

/** What was typed, by the name of the parameter. */
export type ParameterTexts = Readonly<Record<string, string>>
export type CommandData = Record<string, Json>

export type ParsedData =
  | { readonly kind: 'data'; readonly data: CommandData }
  /** Each wrong parameter by its name. */
  | { readonly kind: 'wrong'; readonly wrong: Readonly<Record<string, WrongParameter>> }
export type WrongParameter = 'missing' | 'no-number' | 'no-integer' | 'no-json' | 'no-list' | 'no-object'

/** Required ones first; otherwise in the order of the type. */
export function orderedParameters({ parameters }: TypeCommand): readonly CommandParameter[] {
  return [...(parameters ?? [])].sort((a, b) => Number(b.required) - Number(a.required))
}

export function toData(parameters: readonly CommandParameter[], texts: ParameterTexts): ParsedData {
  const data: CommandData = {}
  const wrong: Record<string, WrongParameter> = {}
  for (const { name, type, required } of parameters) {
    const text = texts[name] ?? ''
    // An empty text is a text only where one has to be given.
    if (text === '' && !(type === 'string' && required)) {
      if (required) wrong[name] = 'missing'
      continue
    }
    const value = toValue(type, text)
    if ('wrong' in value) wrong[name] = value.wrong
    else data[name] = value.value
  }
  return Object.keys(wrong).length > 0 ? { kind: 'wrong', wrong } : { kind: 'data', data }
}

/** Texts that give this data again, to send a command anew. */
export function toTexts(data: Readonly<Record<string, unknown>>): ParameterTexts {
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
}

type Value = { readonly value: Json } | { readonly wrong: WrongParameter }

function toValue(type: CommandParameter['type'], text: string): Value {
  switch (type) {
    case 'string':
      return { value: text }
    case 'boolean':
      return { value: text === 'true' }
    case 'integer':
    case 'number': {
      const value = Number(text)
      if (text.trim() === '' || !Number.isFinite(value)) return { wrong: 'no-number' }
      return type === 'integer' && !Number.isInteger(value) ? { wrong: 'no-integer' } : { value }
    }
    case 'array':
    case 'object':
      return toStructure(type, text)
  }
}

function toStructure(type: 'array' | 'object', text: string): Value {
  const value = parseJson(text)
  if (value === undefined) return { wrong: 'no-json' }
  if (type === 'array' && !Array.isArray(value)) return { wrong: 'no-list' }
  return type === 'object' && !isObject(value) ? { wrong: 'no-object' } : { value }
}
