import { expect, test } from 'vitest'
import { Fault } from '../../../ports/fault.ts'
import { MemoryTelemetry } from '../testing/memory.ts'
import { DeferredTelemetry } from './deferred.ts'

const away = new Fault('TELEMETRY_UNAVAILABLE', { retryable: true })

test('what is away for now is opened again, and said', async () => {
  const answers = [away]
  const failures: unknown[] = []
  const telemetry = new DeferredTelemetry(
    async () => {
      const fault = answers.pop()
      if (fault !== undefined) throw fault
      return new MemoryTelemetry()
    },
    (cause) => failures.push(cause),
  )
  await telemetry.begin()
  expect([telemetry.isUp(), failures]).toEqual([true, [away]])
  await telemetry.close()
})

test('what never will open is told to whoever waits for it, and can be closed', async () => {
  const refused = new Fault('TELEMETRY_TOO_NEW', { retryable: false })
  const telemetry = new DeferredTelemetry(
    () => Promise.reject(refused),
    () => expect.fail('it is tried again'),
  )
  await expect(telemetry.begin()).rejects.toBe(refused)
  await telemetry.close()
})
