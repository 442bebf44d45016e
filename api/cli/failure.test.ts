import { expect, test } from 'vitest'
import { EXIT, toFailureReport } from './failure.ts'

const unreachable = (why: string) =>
  toFailureReport(
    Object.assign(new Error(`fleet.local cannot be reached: ${why}`), { name: 'ConnectionError' }),
  )

test('a certificate of an unknown authority is distinguished from an unreachable service', () => {
  for (const code of [
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
  ])
    expect(unreachable(code)).toMatchObject({
      exitCode: EXIT.unreachable,
      advice: expect.stringContaining('NODE_EXTRA_CA_CERTS='),
    })
  expect(unreachable('ECONNREFUSED').advice).toContain('check that the service is running')
})
