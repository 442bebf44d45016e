import { expect, test } from 'vitest'
import { snippets } from './snippets.ts'

const DEVICE = { deviceId: 'thermo-1', token: 'secret.token' }

test('every program has the address, the id and the token of the device', () => {
  const programs = snippets({ ...DEVICE, endpoint: 'mqtt://broker.example:1884' })
  for (const { name, text } of programs)
    for (const part of ['broker.example', '1884', 'thermo-1', 'secret.token'])
      expect(text, name).toContain(part)
})

test('an encrypted endpoint without a port is the usual one, and the programs use TLS', () => {
  const [shell] = snippets({ ...DEVICE, endpoint: 'mqtts://broker.example' })
  expect(shell?.text).toContain('-p 8883 --capath')
})
