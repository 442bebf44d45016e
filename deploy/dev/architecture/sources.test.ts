import { expect, test } from 'vitest'
import { toSource } from './sources.ts'

const source = (...lines: string[]) => toSource('engine/domain/a.ts', `${lines.join('\n')}\n`)

test('comments are not code, and neither is the content of strings, templates and patterns', () => {
  const { code, bare } = source(
    "const a = 'Math.random // not a comment' // Date.now",
    '/* process.env */',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source under test
    'const b = `await ${c.d} it`',
    'const e = /async \'"[/]/g.test(a)',
    'const f = g / h / i',
  )
  expect(code).toContain('Math.random // not a comment')
  expect(code).not.toMatch(/Date\.now|process\.env/)
  expect(bare).not.toMatch(/Math|await|async/)
  expect(bare).toContain('c.d')
  expect(bare).toContain('g / h / i')
})

test('imports are found in every form', () => {
  const { imports } = source(
    "import { type A, b as c } from '../../schemas/ids.ts'",
    'import type {',
    '  D,',
    '  E,',
    "} from './device/record.ts'",
    "import fastify from 'fastify'",
    "import * as z from '@a/b/deep'",
    "import './side.ts'",
    "export { f } from './f.ts'",
    "const g = await import('node:fs')",
  )
  const brief = imports.map(({ target, isTypeOnly, names }) => [target, isTypeOnly, names.join(' ')])
  expect(brief.sort()).toEqual([
    ['@a/b', false, '*'],
    ['engine/domain/device/record.ts', true, 'D E'],
    ['engine/domain/f.ts', false, 'f'],
    ['engine/domain/side.ts', false, '*'],
    ['fastify', false, '*'],
    ['node:fs', false, '*'],
    ['schemas/ids.ts', false, 'A b'],
  ])
})

test('exports are found, and types are distinguished from values', () => {
  const { exports } = source(
    'export const a = 1',
    'export async function b() {}',
    'export abstract class C {}',
    'export interface D {}',
    'export type E = string',
    'const f = 2',
  )
  expect(exports.map(({ name, isType }) => `${name} ${isType ? 'type' : 'value'}`)).toEqual([
    'a value',
    'b value',
    'C value',
    'D type',
    'E type',
  ])
})
