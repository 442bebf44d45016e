// The command that an address fills a form with: a quick command, one of the palette, or one that is sent again.
import { isObject, parseJson } from '../../../../schemas/json.ts'
import { text } from '../address/codecs.ts'
import { queryValue } from '../navigation/navigation.ts'
import type { CommandDraft } from './command-form.tsx'

export const commandInAddress = queryValue('command', text('', 128))
/** Its parameters, as JSON. */
export const parametersInAddress = queryValue('data', text('', 8000))

/** Parameters that are none are left out. */
export function draftInAddress(): Partial<CommandDraft> | undefined {
  if (commandInAddress.value === '') return undefined
  const found = parseJson(parametersInAddress.value)
  return { command: commandInAddress.value, ...(isObject(found) ? { data: found } : {}) }
}
