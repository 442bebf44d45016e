// What deploy/README.md names has to be there: files, settings, alerts, operations of the command line.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { NAMES } from '../api/service/settings/names.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const text = readFileSync(here('README.md'), 'utf8')
const found = (pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map(([, name = '']) => name))]

test('files that are named are there', () => {
  const named = found(/(?<![\w/-])((?:deploy|compose|systemd|clickhouse|prometheus|engine)\/[\w@./-]*\w)/g)
  expect(named.length).toBeGreaterThan(12)
  const made = /^deploy\/secrets(\/|$)/
  const isThere = (path: string) =>
    existsSync(here(path)) || existsSync(here(`../${path}`)) || made.test(path)
  expect(named.filter((path) => !isThere(path))).toEqual([])
  const links = found(/\]\(([^)#]+)(?:#[^)]*)?\)/g)
  expect(links.filter((path) => !existsSync(here(path)))).toEqual([])
})

test('settings that are named are settings', () => {
  const known: ReadonlySet<string> = new Set(NAMES)
  expect(found(/\b(FLEET_[A-Z_]+[A-Z])\b/g).filter((name) => !known.has(name))).toEqual([])
})

test('alerts that are named are alerts', () => {
  const rules = readdirSync(here('prometheus/rules')).map((name) =>
    readFileSync(here(`prometheus/rules/${name}`), 'utf8'),
  )
  const known = new Set(rules.flatMap((rule) => [...rule.matchAll(/alert: (\w+)/g)].map(([, name]) => name)))
  const named = found(/`((?:Fleet|Emqx)[A-Z]\w+)`/g)
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter((name) => !known.has(name))).toEqual([])
})

test('commands that are named are commands', () => {
  const program = readFileSync(here('../api/cli/program.ts'), 'utf8')
  const areas = found(/(?:npx |`)fleet ([a-z-]+)/g)
  expect(areas.length).toBeGreaterThan(4)
  expect(areas.filter((area) => !new RegExp(`^  '?${area}'?: \\{`, 'm').test(program))).toEqual([])
})
