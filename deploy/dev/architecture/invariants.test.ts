// Checks the numbered invariants in module headers. Every number must be cited somewhere, and every citation must name an
// existing number.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readSources } from './sources.ts'

const ROOT = new URL('../../../', import.meta.url)
const SOURCES = readSources(ROOT, ['schemas', 'engine', 'api', 'bench', 'deploy'])
/** Rules of the whole engine, which every file may cite without a module name. */
const DESIGN = new Set(
  [...readFileSync(new URL('engine/DESIGN.md', ROOT), 'utf8').matchAll(/\*\*([A-Z]\d+)\*\*/g)].map(
    ([, n = '']) => n,
  ),
)
/** The name of a service that looks like an invariant. */
const NO_NUMBER = new Set(['S3'])

const moduleOf = (path: string) => path.replace(/^.*\//, '').replace(/\.\w+$/, '')
const numbersOf = (text: string) =>
  new Set([...text.matchAll(/^\/\/\s+([A-Z]{1,3}\d+)\. /gm)].map(([, number = '']) => number))
const FILES = SOURCES.map(({ path, text }) => ({
  path,
  module: moduleOf(path),
  numbers: numbersOf(text),
  // The numbers with which invariants begin are removed, because they are no citations.
  comments: [...text.matchAll(/(?:\/\/|\/\*\*|^\s*\*)(.*)$/gm)]
    .map(([, comment = '']) => comment.replace(/^\s+[A-Z]{1,3}\d+\. /, ''))
    .join('\n'),
}))
const NUMBERS = new Set(FILES.flatMap(({ numbers }) => [...numbers]))
/** Every number that is cited together with a module name. */
const QUALIFIED = new Set(FILES.flatMap(({ comments }) => comments.match(/[\w-]+ [A-Z]{1,3}\d+\b/g) ?? []))

test('every numbered invariant is cited somewhere', () => {
  const idle = FILES.flatMap(({ path, module, numbers, comments }) =>
    [...numbers]
      .filter((number) => !new RegExp(`\\b${number}\\b`).test(comments))
      .filter((number) => !QUALIFIED.has(`${module} ${number}`))
      .map((number) => `${path}: ${number}`),
  )
  expect(idle).toEqual([])
})

test('a citation names a number of its own file, one of DESIGN.md, or the module that has it', () => {
  const astray = FILES.flatMap(({ path, numbers, comments }) =>
    [...comments.matchAll(/(?:([\w-]+) )?\b([A-Z]{1,3}\d+)\b/g)]
      .filter(([, , number = '']) => NUMBERS.has(number) && !numbers.has(number))
      .filter(([, , number = '']) => !DESIGN.has(number) && !NO_NUMBER.has(number))
      .filter(([, module, number = '']) => !FILES.some((f) => f.module === module && f.numbers.has(number)))
      .map(([citation]) => `${path}: ${citation}`),
  )
  expect(astray).toEqual([])
})
