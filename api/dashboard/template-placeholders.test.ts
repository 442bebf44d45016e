import { expect, test } from 'vitest'
import { unknownPlaceholders } from '../../engine/domain/alert/template.ts'
import { PLACEHOLDERS, withPlaceholder } from './app/views/alerts/template-draft.ts'

test('the service knows every placeholder that is offered', () => {
  const body = PLACEHOLDERS.reduce(withPlaceholder, '')
  expect(Object.keys(JSON.parse(body))).toHaveLength(PLACEHOLDERS.length)
  expect(unknownPlaceholders(body)).toEqual([])
})

test('a placeholder is added to what is written, and what is no JSON object stays', () => {
  expect(JSON.parse(withPlaceholder('{"text":"x"}', 'device.id'))).toEqual({
    text: 'x',
    device_id: '{{device.id}}',
  })
  for (const text of ['{"text":', '[1]', '5']) expect(withPlaceholder(text, 'device.id')).toBe(text)
})
