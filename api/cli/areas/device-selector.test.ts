import { expect, test } from 'vitest'
import { selector } from './device-selector.ts'

test('a selector is parsed into a filter of the API', () => {
  expect(selector('tag=canary,status=online,group=warehouse/a', undefined)).toEqual({
    tag: ['canary'],
    status: 'online',
    group: 'warehouse/a',
  })
  expect(selector('firmware=1.2=b, parent=gw , query=rob', undefined)).toEqual({
    firmware_version: '1.2=b',
    parent_id: 'gw',
    q: 'rob',
  })
})

test('repeated options add up, and every tag must match', () => {
  expect(selector('tag=b,type=gateway', selector('tag=a', undefined))).toEqual({
    tag: ['a', 'b'],
    type: 'gateway',
  })
})

test.each([
  ['canary', 'expected name=value'],
  ['=x', 'expected name=value'],
  ['tga=x', 'did you mean tag?'],
  ['__proto__=x', '__proto__ is not known'],
  ['status=away', 'expected one of'],
  ['group=a,group=b', 'group is given twice'],
])('%s is refused', (text, why) => {
  expect(() => selector(text, undefined)).toThrow(why)
})
