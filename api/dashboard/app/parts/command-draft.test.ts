import { expect, test } from 'vitest'
import { type CommandParameter, orderedParameters, toData, toTexts } from './command-draft.ts'

const parameter = (name: string, type: CommandParameter['type'], required = false): CommandParameter => ({
  name,
  type,
  required,
})

test('texts become values of their types, and empty ones are left out', () => {
  const parameters = [
    parameter('x', 'number', true),
    parameter('times', 'integer'),
    parameter('loud', 'boolean'),
    parameter('note', 'string'),
    parameter('path', 'array'),
    parameter('more', 'object'),
    parameter('empty', 'number'),
  ]
  const texts = {
    x: '4.5',
    times: '3',
    loud: 'true',
    note: 'a b',
    path: '[1,2]',
    more: '{"a":null}',
    empty: '',
  }
  const data = { x: 4.5, times: 3, loud: true, note: 'a b', path: [1, 2], more: { a: null } }
  expect(toData(parameters, texts)).toEqual({ kind: 'data', data })
  expect(toData(parameters, toTexts(data))).toEqual({ kind: 'data', data })
})

test('each parameter says what is wrong with it', () => {
  const parameters = [
    parameter('must', 'integer', true),
    parameter('whole', 'integer'),
    parameter('number', 'number'),
    parameter('list', 'array'),
    parameter('object', 'object'),
    parameter('json', 'object'),
  ]
  expect(toData(parameters, { whole: '1.5', number: 'one', list: '{}', object: '[]', json: '{' })).toEqual({
    kind: 'wrong',
    wrong: {
      must: 'missing',
      whole: 'no-integer',
      number: 'no-number',
      list: 'no-list',
      object: 'no-object',
      json: 'no-json',
    },
  })
})

test('a required text may be empty, and required parameters come first', () => {
  const parameters = [parameter('optional', 'string'), parameter('text', 'string', true)]
  expect(toData(parameters, {})).toEqual({ kind: 'data', data: { text: '' } })
  const command = { name: 'say', description: null, parameters }
  expect(orderedParameters(command).map(({ name }) => name)).toEqual(['text', 'optional'])
})
