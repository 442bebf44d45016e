import { expect, test } from 'vitest'
import { UnmetCheck } from './verdict.ts'

test('the evidence in a report contains no credentials', () => {
  const answer = { status: 201, body: { access_token: 'a', mqtt_token: 'b', secret: 'c', key: 'd', id: 'e' } }
  const { evidence = '' } = new UnmetCheck('the token is wrong', [answer])
  expect(JSON.parse(evidence)).toEqual([
    {
      status: 201,
      body: {
        ...{
          access_token: '(not shown)',
          mqtt_token: '(not shown)',
          secret: '(not shown)',
          key: '(not shown)',
        },
        id: 'e',
      },
    },
  ])
})
