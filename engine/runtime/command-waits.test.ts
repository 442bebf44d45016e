import { expect, test } from 'vitest'
import { CommandId } from '../../schemas/ids.ts'
import type { CommandStatus } from '../../schemas/vocabulary.ts'
import { createCommand } from '../domain/command/create.ts'
import { LIMITS } from '../limits.ts'
import type { FeedEvent } from '../ports/feed.ts'
import { CommandWaits } from './command-waits.ts'
import { idOf, START } from './shard/testing/items.ts'

const device = idOf('a')
const c1 = CommandId('c1')
function moved(status: CommandStatus, deviceId = device): FeedEvent {
  const created = createCommand([], { name: 'go' }, { id: c1, by: 'usr_1', now: START })
  if (created.kind !== 'created') throw new Error('a command that is taken')
  return {
    kind: 'command',
    event: 'command.status',
    deviceId,
    at: START,
    command: { ...created.command, status },
  }
}

test('a wait ends with the final status of its own command, for every caller that waits', async () => {
  const waits = new CommandWaits()
  const [first, second] = [waits.open(device, c1), waits.open(device, c1)]
  waits.settle([moved('delivered'), moved('completed', idOf('b'))])
  waits.settle([moved('failed')])
  expect((await first.ended)?.status).toBe('failed')
  expect((await second.ended)?.status).toBe('failed')
})

test('closing ends every wait with undefined', async () => {
  const waits = new CommandWaits()
  const { ended } = waits.open(device, c1)
  waits.fail()
  expect(await ended).toBeUndefined()
})

test('the number of waits is limited, and closing one makes room for exactly one more', () => {
  const waits = new CommandWaits()
  const open = Array.from({ length: LIMITS.commandWaitsMax }, () => waits.open(device, c1))
  expect(() => waits.open(device, c1)).toThrow('too many')
  open[0]?.close()
  open[0]?.close()
  waits.open(device, c1)
  expect(() => waits.open(device, c1)).toThrow('too many')
})
