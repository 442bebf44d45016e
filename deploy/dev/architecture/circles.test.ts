import { expect, test } from 'vitest'
import { circles } from './circles.ts'
import { toSource } from './sources.ts'

const file = (path: string, ...targets: string[]) =>
  toSource(path, targets.map((target) => `import type { A } from '${target}'\n`).join(''))

test('two files that import each other form a circle, even if only by types', () => {
  expect(circles([file('a/one.ts', './two.ts'), file('a/two.ts', './one.ts')])).toEqual([
    'a/one.ts imports a/two.ts',
    'a/two.ts imports a/one.ts',
  ])
})

test('folders form a circle even through different files and several steps', () => {
  const sources = [
    file('a/x/one.ts', '../y/two.ts'),
    file('a/y/deep/other.ts', '../../z.ts'),
    file('a/z.ts', './x/three.ts'),
    file('a/x/three.ts'),
  ]
  expect(circles(sources)).toHaveLength(3)
})

test('a folder and the files beside it may use each other, as long as no import leads back', () => {
  const sources = [
    file('a/open.ts', './x/one.ts'),
    file('a/x/one.ts', '../base.ts'),
    file('b.ts', './a/open.ts'),
  ]
  expect(circles(sources)).toEqual([])
})
