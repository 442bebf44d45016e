// Checks commands: each accepted one exists, moves as the table of moves allows, and ends as its device answered.
import { COMMAND_MOVES, isOpen } from '../../../../engine/domain/command/moves.ts'
import type { CommandStatus } from '../../../../schemas/vocabulary.ts'
import type {
  CommandCall,
  DeviceOutcome,
  FinalCommand,
  Message,
  Receipt,
  Recording,
  Step,
} from '../recording.ts'
import { groupedBy } from './grouped.ts'
import { mayBeLost } from './losses.ts'
import { type Operation, outOfOrder } from './real-time.ts'
import type { Violation } from './violation.ts'

const ATTEMPTS_MAX = 5

export function checkCommands(recording: Recording): readonly Violation[] {
  const calls = groupedBy(recording.calls, ({ device }) => device)
  const messages = groupedBy(recording.messages, ({ device }) => device)
  const receipts = groupedBy(recording.receipts, ({ device }) => device)
  return recording.stored.flatMap((stored) => {
    const { device } = stored
    const own = (calls.get(device) ?? []).filter((call) => isCommandCall(call.kind)) as CommandCall[]
    const answers = (messages.get(device) ?? []).filter(({ series }) => series === 'answer')
    const tokens = new Set(own.map(({ token }) => token))
    return [
      ...strangers(stored, tokens),
      ...(receipts.get(device) ?? [])
        .filter(({ token }) => !tokens.has(token))
        .map(({ commandId }) => violation(device, `received ${commandId}, which nobody sent`)),
      ...lost(stored, own),
      ...Object.entries(stored.commands).flatMap(([id, final]) =>
        checkOne(recording, stored, { id, final, calls: own, answers }),
      ),
      ...unsent(stored, receipts.get(device) ?? []),
    ]
  })
}

function isCommandCall(kind: string): boolean {
  return kind === 'command' || kind === 'look' || kind === 'cancel'
}

function violation(device: string, text: string, isAbsence = false): Violation {
  return { check: 'commands', device, text, ...(isAbsence ? { isAbsence } : {}) }
}

/** Each call makes at most one command, and every command has a call. */
function strangers(
  { device, steps }: DeviceOutcome,
  tokens: ReadonlySet<string | undefined>,
): readonly Violation[] {
  const first = steps.filter(({ token }) => token !== undefined)
  return [...groupedBy(first, ({ token }) => token)].flatMap(([token, made]) => {
    const ids = new Set(made.map(({ commandId }) => commandId))
    if (!tokens.has(token)) return [violation(device, `has ${[...ids].join(' ')}, which nobody sent`)]
    if (ids.size > 1) return [violation(device, `one call made ${[...ids].join(' ')}`)]
    return []
  })
}

/** A command is saved as sent before it is sent, so one that was cancelled or expired unsent reaches nobody. */
function unsent({ device, commands }: DeviceOutcome, receipts: readonly Receipt[]): readonly Violation[] {
  return receipts
    .filter(({ commandId }) => commands[commandId]?.attempts === 0)
    .map(({ commandId, at }) => violation(device, `received ${commandId} at ${at}, which was never sent`))
}

function lost(
  { device, commands, steps }: DeviceOutcome,
  calls: readonly CommandCall[],
): readonly Violation[] {
  const told = new Set(steps.map(({ commandId }) => commandId))
  return calls
    .filter(({ kind, commandId }) => kind === 'command' && commandId !== undefined)
    .flatMap(({ commandId = '' }) => [
      ...(commands[commandId] === undefined
        ? [violation(device, `${commandId} was accepted and is gone`)]
        : []),
      ...(told.has(commandId) ? [] : [violation(device, `${commandId} is not in the history`, true)]),
    ])
}

interface OneCommand {
  readonly id: string
  readonly final: FinalCommand
  readonly calls: readonly CommandCall[]
  readonly answers: readonly Message[]
}

function checkOne(recording: Recording, stored: DeviceOutcome, one: OneCommand): readonly Violation[] {
  const { device } = stored
  const { id, final } = one
  const steps = stored.steps.filter(({ commandId }) => commandId === id)
  const texts = [...illegalMoves(steps), ...wrongEnd(recording, one)]
  if (final.attempts > ATTEMPTS_MAX) texts.push(`was sent ${final.attempts} times`)
  const last = steps.at(-1)?.status
  const end: Violation[] =
    last === undefined || last === final.status
      ? []
      : [violation(device, `${id} is ${final.status}, its history ends with ${last}`, true)]
  const wrong = [...texts, ...outdated(steps, one)].map((text) => violation(device, `${id} ${text}`))
  const open = isOpen(final.status) ? [violation(device, `${id} is still ${final.status}`, true)] : []
  return [...wrong, ...end, ...open]
}

function illegalMoves(steps: readonly Step[]): string[] {
  const [first] = steps
  const found = first === undefined || first.status === 'pending' ? [] : [`began as ${first.status}`]
  for (const [i, { status }] of steps.entries()) {
    const before = steps[i - 1]?.status
    // A step may report progress without a move.
    if (before === undefined || before === status) continue
    if (!Object.values(COMMAND_MOVES[before]).includes(status))
      found.push(`moved from ${before} to ${status}`)
  }
  return found
}

/** The device's answer decides, if it came in time, and nothing else completes or fails a command. */
function wrongEnd({ faults, promises }: Recording, { id, final, answers }: OneCommand): readonly string[] {
  const own = answers.filter(({ answer }) => answer?.commandId === id && answer.status !== 'acked')
  const said = new Set<CommandStatus>(own.flatMap(({ answer }) => answer?.status ?? []))
  const isOfDevice = final.status === 'completed' || final.status === 'failed'
  if (isOfDevice && !said.has(final.status)) return [`is ${final.status}, and its device never said so`]
  const sure = own.find((message) => !mayBeLost(message, faults, promises))
  // Late answers count for a day, so an expired command that was answered is completed after all.
  if (sure !== undefined && !isOfDevice && final.status !== 'cancelled')
    return [`is ${final.status}, though its device said ${sure.answer?.status} at ${sure.sentAt[0]}`]
  return []
}

/** The statuses that callers saw never go back in real time. */
function outdated(steps: readonly Step[], { id, calls }: OneCommand): readonly string[] {
  // Only the first sight of each status counts; later ones report progress.
  const places = new Map(steps.map(({ status }, place) => [status, place] as const).toReversed())
  const found: string[] = []
  const operations = calls.flatMap(({ commandId, seen, caller, from, to }): Operation[] => {
    if (commandId !== id || seen === undefined || to === undefined) return []
    const place = places.get(seen)
    if (place === undefined && steps.length > 0)
      found.push(`was shown ${seen} to ${caller}, which it never was`)
    return place === undefined ? [] : [{ label: `${seen} to ${caller}`, place, from, to }]
  })
  const late = outOfOrder(operations).map(
    ({ earlier, later }) =>
      `was shown as ${later.label} at ${later.from}, after it had been shown as ${earlier.label}`,
  )
  return [...found, ...late]
}
