import { expect, test } from 'vitest'
import { openHarness } from '../testing/rest.ts'

async function messageFor(line: string, body?: object): Promise<string> {
  const { login, request } = openHarness()
  const { token } = await login('admin')
  const { status, body: problem } = await request(line, { token, ...(body === undefined ? {} : { body }) })
  expect(status).toBe(422)
  return problem.errors[0].message
}
const device = (fields: object) => ({ name: 'Picker', type: 'simulator', ...fields })

test.each([
  [
    'GET /api/v1/devices?sort=last_seen',
    undefined,
    /^must be one of created_at, .*group; :ASC or :DESC may follow$/,
  ],
  ['GET /api/v1/events?kind=status,left', undefined, /^must be some of status, command, /],
  ['POST /api/v1/devices', device({ name: ' ' }), /^must be one line of text that is not blank/],
  ['POST /api/v1/devices', device({ group: 'a b' }), /; "warehouse\/a" would be right$/],
  ['POST /api/v1/devices', device({ device_id: 'a b' }), /; "robot-7" would be right$/],
])('what %s has to be is said in words, not as a regular expression', async (line, body, message) => {
  expect(await messageFor(line, body)).toMatch(message)
})
