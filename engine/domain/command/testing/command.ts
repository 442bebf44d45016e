// What the tests of commands share: a device with a session, and short forms of its events.
import { CommandId, Micros, Millis } from '../../../../schemas/ids.ts'
import { type Ack, toAck } from '../ack-message.ts'
import { type CommandRequest, createCommand } from '../create.ts'
import type { Command, Commands } from '../record.ts'
import type { SendContext } from '../send-order.ts'

export const at = (ms: number): Millis => Millis(ms)
export const live = (now: number, session = 1): SendContext => ({
  session: Micros(session),
  isRelayed: false,
  isUpdating: false,
  status: 'online',
  now: at(now),
})

/** Creates `c0`, `c1`, … in this order. */
export function create(commands: Commands, wish: Partial<CommandRequest> = {}, now = 0): Commands {
  const creation = { id: CommandId(`c${commands.length}`), by: 'usr_1', now: at(now) }
  const outcome = createCommand(commands, { name: 'go', ...wish }, creation)
  if (outcome.kind !== 'created') throw new Error(`not created: ${outcome.kind}`)
  return outcome.commands
}

export function find(commands: Commands, index: number): Command {
  const command = commands.find(({ id }) => id === `c${index}`)
  if (command === undefined) throw new Error(`no command c${index}`)
  return command
}

export function ackOf(index: number, status: string, fields: object = {}): Ack {
  const message = toAck({ request_id: `c${index}`, status, ...fields })
  if (message.kind !== 'ack') throw new Error(message.detail)
  return message
}

export function bodyOf({ payload }: { readonly payload: Uint8Array }): Record<string, unknown> {
  return JSON.parse(Buffer.from(payload).toString())
}
