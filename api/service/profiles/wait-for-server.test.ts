import { expect, test } from 'vitest'
import { Fault } from '../../../engine/ports/fault.ts'
import { waitForServer } from './wait-for-server.ts'

function opening(...outcomes: readonly (Error | string)[]) {
  const said: unknown[] = []
  const left = [...outcomes]
  const open = async () => {
    const next = left.shift()
    if (typeof next === 'string') return next
    throw next
  }
  const logger = { warn: ({ reason }: Readonly<Record<string, unknown>>) => said.push(reason) }
  return { said, opened: waitForServer(open, { logger, retryMs: 1 }) }
}
const fault = (message: string, retryable: boolean) => new Fault('LOG_UNAVAILABLE', { message, retryable })

test('a server that starts later is awaited, and each reason is logged once', async () => {
  const { said, opened } = opening(fault('away', true), fault('away', true), fault('starting', true), 'there')
  expect(await opened).toBe('there')
  expect(said).toEqual(['away', 'starting'])
})

test('a fault that is not retryable ends the start', async () => {
  await expect(opening(fault('away', true), fault('too old', false)).opened).rejects.toThrow('too old')
  await expect(opening(new TypeError('a bug')).opened).rejects.toThrow(TypeError)
})
