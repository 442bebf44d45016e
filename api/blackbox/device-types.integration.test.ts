// The device-type file: it is read at the start, and commands are checked against it.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ServiceHarness } from './testing/service.ts'
import { registerDevice } from './testing/service-rest.ts'

const harness = new ServiceHarness()
afterAll(() => harness.close())

const GREENHOUSE = `device_types:
  greenhouse:
    display_name: Greenhouse
    commands:
      - name: open_vent
        parameters:
          - { name: percent, type: integer, required: true, min: 0, max: 100 }
`

function fileOf(text: string): string {
  const path = join(harness.newFolder(), 'types.yaml')
  writeFileSync(path, text)
  return path
}

test.each([
  ['a type that does not exist', ['type: integer', 'type: int'], /line 7: .*type: must be one of .*/],
  [
    'a key that is not known',
    ['name: Greenhouse', 'name: Greenhouse\n    ikon: leaf'],
    /line 4: .*ikon: is not known here.*/,
  ],
])(
  'a file with %s ends the start with a message that names the line',
  async (_, [right = '', wrong = ''], line) => {
    const path = fileOf(GREENHOUSE.replace(right, wrong))
    const { code, stderr, stdout } = await harness.run({ FLEET_DEVICE_TYPES: path })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(new RegExp(`^fleet: FLEET_DEVICE_TYPES \\S+types\\.yaml: ${line.source}\\n$`))
  },
)

test('devices of types in the file can be registered and listed, and their commands are checked', async () => {
  const service = await harness.start({ FLEET_DEVICE_TYPES: fileOf(GREENHOUSE) })
  const admin = await service.admin()
  await registerDevice(admin, 'g1', { type: 'greenhouse' })
  const refused = await admin.post('/devices', { name: 'x', type: 'glasshouse' })
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('greenhouse')])
  expect((await admin.get('/device-types')).text).toContain('"open_vent"')
  expect((await admin.get('/device-types')).text).toContain(
    '"parameters":[{"name":"percent","type":"integer","required":true,"min":0,"max":100}]',
  )
  const codeOf = async (body: object) => {
    const answer = await admin.post('/commands/g1', body)
    return answer.body['code'] ?? answer.status
  }
  expect(await codeOf({ command: 'open_vent', data: { percent: 50 } })).toBe(202)
  expect(await codeOf({ command: 'open_vent', data: { percent: 101 } })).toBe('VALIDATION_FAILED')
  expect(await codeOf({ command: 'fly' })).toBe('UNKNOWN_COMMAND')
})

test('devices of a type that left the file are still listed by it, and no further ones are registered', async () => {
  const service = await harness.start({ FLEET_DEVICE_TYPES: fileOf(GREENHOUSE) })
  await registerDevice(await service.admin(), 'g2', { type: 'greenhouse' })
  service.kill('SIGTERM')
  const without = await service.again({ FLEET_DEVICE_TYPES: fileOf('device_types: {}') })
  const admin = await without.admin()
  const listed = await admin.get('/devices?type=greenhouse')
  expect([listed.status, listed.body['total']]).toEqual([200, 1])
  expect((await admin.get('/devices/g2')).body['type']).toBe('greenhouse')
  expect((await admin.get('/devices?type=glasshouse')).status).toBe(422)
  expect((await admin.post('/devices', { name: 'x', type: 'greenhouse' })).status).toBe(422)
})
