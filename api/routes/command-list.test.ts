import { expect, test } from 'vitest'
import { createCommand } from '../../engine/domain/command/create.ts'
import { cancelCommand } from '../../engine/domain/command/lifecycle.ts'
import { type Command, NO_COMMANDS } from '../../engine/domain/command/record.ts'
import { LIMITS } from '../../engine/limits.ts'
import { CommandId, type DeviceId, Millis } from '../../schemas/ids.ts'
import { commandsOf } from './command-list.ts'

const NOW = Millis(Date.UTC(2026, 2, 1, 12))
const DEVICE = 'r' as DeviceId
const ids = Array.from({ length: 2 * LIMITS.commandsKeptMax }, (_, n) => CommandId(`cmd_${1000 + n}`))
const newestFirst = ids.toReversed()

/** A finished command of the moment that all commands of this file have in common. */
function cancelled(id: CommandId): Command {
  const created = createCommand(NO_COMMANDS, { name: 'go' }, { id, by: 'usr_1', now: NOW })
  if (created.kind !== 'created') throw new Error('not created')
  const outcome = cancelCommand(created.commands, id, { now: NOW, by: 'usr_1' })
  if (outcome.kind !== 'cancelled') throw new Error('not cancelled')
  return outcome.command
}

async function listed(kept: readonly CommandId[]): Promise<readonly CommandId[]> {
  const past = newestFirst.map(
    (commandId) => ({ deviceId: DEVICE, commandId, createdAt: NOW, status: 'cancelled' }) as const,
  )
  const found = await commandsOf({ pastCommands: async () => past }, DEVICE, {
    kept: kept.map(cancelled),
    wanted: { kind: 'statuses', statuses: undefined },
  })
  return found.map(({ place }) => place.commandId)
}

test('commands of the same moment keep their places in the list, whichever of them the device still holds', async () => {
  const half = LIMITS.commandsKeptMax
  expect(await listed(ids.slice(0, half))).toEqual(newestFirst)
  expect(await listed(ids.slice(half))).toEqual(newestFirst)
  expect(await listed(newestFirst.slice(half))).toEqual(newestFirst)
})
