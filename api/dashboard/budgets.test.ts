// How much a browser has to load: an address must open quickly on a slow line, too. Sizes are those of the built files as
// gzip, which the service sends.
import { readFileSync, statSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const BUILT = new URL('../../dist/dashboard/', import.meta.url)
const KB = 1000

interface Chunk {
  readonly file: string
  readonly isEntry?: boolean
  readonly imports?: readonly string[]
  readonly dynamicImports?: readonly string[]
  readonly css?: readonly string[]
}
// Vite's own format.
const MANIFEST = JSON.parse(readFileSync(new URL('.vite/manifest.json', BUILT), 'utf8')) as Readonly<
  Record<string, Chunk>
>
const ENTRY = Object.keys(MANIFEST).find((key) => MANIFEST[key]?.isEntry === true) ?? ''

const sizeOf = (file: string) => statSync(new URL(`${file}.gz`, BUILT)).size
const sum = (files: Iterable<string>) => [...files].reduce((total, file) => total + sizeOf(file), 0)

/** The files that a chunk needs before it can run. */
function filesOf(key: string, found = new Set<string>()): ReadonlySet<string> {
  const chunk = MANIFEST[key]
  if (chunk === undefined || found.has(chunk.file)) return found
  found.add(chunk.file)
  for (const css of chunk.css ?? []) found.add(css)
  for (const next of chunk.imports ?? []) filesOf(next, found)
  return found
}

const shell = filesOf(ENTRY)
const views = [...new Set(Object.values(MANIFEST).flatMap(({ dynamicImports = [] }) => dynamicImports))]
const all = Object.values(MANIFEST).map(({ file }) => file)
/** Each file with its size, so that a failure says what grew. */
const listed = (files: Iterable<string>) => [...files].map((file) => `${file} ${sizeOf(file)}`)

describe('what a browser loads', () => {
  test('the shell takes at most 60 kB of scripts', () => {
    const scripts = [...shell].filter((file) => file.endsWith('.js'))
    expect(sum(scripts), listed(scripts).join('\n')).toBeLessThanOrEqual(60 * KB)
  })

  test('all styles together take at most 12 kB', () => {
    const styles = new Set(
      Object.values(MANIFEST).flatMap(({ file, css = [] }) => [
        ...css,
        ...(file.endsWith('.css') ? [file] : []),
      ]),
    )
    expect(sum(styles), listed(styles).join('\n')).toBeLessThanOrEqual(12 * KB)
  })

  test('the icons take at most 4 kB, and the worker at most 8 kB', () => {
    const built = readFileSync(new URL('index.html', BUILT), 'utf8')
    expect(built).not.toContain('<script>')
    const sprite = all.filter((file) => file.includes('sprite-'))
    const worker = all.filter((file) => file.includes('worker-'))
    expect(sum(sprite)).toBeLessThanOrEqual(4 * KB)
    expect(sum(worker)).toBeLessThanOrEqual(8 * KB)
  })

  test('charts take at most 30 kB', () => {
    const charts = all.filter((file) => /assets\/chart-.*js$/.test(file))
    expect(charts).toHaveLength(1)
    expect(charts.filter((file) => shell.has(file))).toEqual([])
    expect(sum(charts)).toBeLessThanOrEqual(30 * KB)
  })

  test('a view takes at most 25 kB beside the shell, charts left out', () => {
    const large = views.flatMap((view) => {
      const own = [...filesOf(view)].filter((file) => !shell.has(file) && !/\/chart-/.test(file))
      return sum(own) > 25 * KB ? [`${view}: ${listed(own).join(', ')}`] : []
    })
    expect(large).toEqual([])
  })

  test('no address takes more than 120 kB', () => {
    const large = views.flatMap((view) => {
      const files = new Set([...shell, ...filesOf(view)])
      return sum(files) > 120 * KB ? [`${view}: ${listed(files).join(', ')}`] : []
    })
    expect(large).toEqual([])
  })
})
