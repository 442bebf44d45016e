// The command that an address fills a form with: a quick command, one of the palette, or one that is sent again.
import { isObject, parseJson } from '../../../../schemas/json.ts'
import { COMMAND_PRIORITIES, type CommandPriority } from '../../../../schemas/vocabulary.ts'
import { oneOf, text, whole } from '../address/codecs.ts'
import type { QueryText } from '../address/query-text.ts'
import { queryValue } from '../navigation/navigation.ts'
import type { CommandDraft } from './command-form.tsx'

export const commandInAddress = queryValue('command', text('', 128))
/** Its parameters, as JSON. */
export const parametersInAddress = queryValue('data', text('', 8000))

const priorityInAddress = queryValue('priority', oneOf(COMMAND_PRIORITIES, 'normal'))
/** Zero is the usual one. */
const timeoutInAddress = queryValue('timeout_sec', whole(0, 1, 604_800))

/** Parameters that are none are left out. */
export function draftInAddress(): Partial<CommandDraft> | undefined {
  if (commandInAddress.value === '') return undefined
  const found = parseJson(parametersInAddress.value)
  return {
    command: commandInAddress.value,
    ...(isObject(found) ? { data: found } : {}),
    ...(timeoutInAddress.value === 0 ? {} : { timeout_sec: timeoutInAddress.value }),
    priority: priorityInAddress.value,
  }
}

/** What an address has that fills a form with a command that was sent before. */
export function addressOfSent({ command, data, timeout_sec, priority }: SentCommand): QueryText {
  return {
    command,
    data: Object.keys(data).length === 0 ? undefined : JSON.stringify(data),
    timeout_sec: timeout_sec === null ? undefined : String(timeout_sec),
    priority: priority === 'normal' ? undefined : priority,
  }
}

interface SentCommand {
  readonly command: string
  readonly data: object
  /** Null is the usual one. */
  readonly timeout_sec: number | null
  readonly priority: CommandPriority
}
