import { expect, test } from 'vitest'
import { refuseCommon } from './common-passwords.ts'

const ADA = 'ada@example.com'

test.each([
  'password',
  'Password123',
  '12345678',
  'QWERTYUIOP',
  ' '.repeat(8),
  '\u0000'.repeat(9),
  'Ada@example.com',
])('%j is refused as a password', (password) => {
  expect(refuseCommon(password, ADA)).toMatchObject({
    code: 'VALIDATION_FAILED',
    detail: { errors: [{ path: '/password', code: 'COMMON_PASSWORD' }] },
  })
})

test.each(['correct horse', 'battery staple', 'bob@example.com', 'x'.repeat(64), 'passwords are hard'])(
  '%j is taken as a password',
  (password) => expect(refuseCommon(password, ADA)).toBeUndefined(),
)
