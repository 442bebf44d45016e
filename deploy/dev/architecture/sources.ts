// Parses the sources for the architecture tests, with regular expressions instead of a compiler. The formatter guarantees
// the layout that the expressions rely on.
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'

export interface Import {
  /** What is imported: a package, a `node:` module, or a file (as a path from the root). */
  readonly target: string
  readonly isFile: boolean
  readonly isTypeOnly: boolean
  /** True for `import(…)`, which loads the file only when needed. */
  readonly isLazy: boolean
  /** Names in the exporting file. `*` means everything. */
  readonly names: readonly string[]
}

export interface Export {
  readonly name: string
  readonly isType: boolean
}

export interface Source {
  readonly path: string
  readonly lines: number
  readonly text: string
  /** The text without comments. */
  readonly code: string
  /** The text without comments and without the content of strings, templates and patterns. */
  readonly bare: string
  readonly imports: readonly Import[]
  readonly exports: readonly Export[]
  /** True for tests and for what only tests use: anything in a `testing/` folder, in `api/blackbox/` and beside this file.
   *  */
  readonly isTest: boolean
}

export function readSources(root: URL, folders: readonly string[]): readonly Source[] {
  return folders
    .flatMap((folder) => list(root, folder))
    .map((path) => {
      return toSource(path, readFileSync(new URL(path, root), 'utf8'))
    })
}

function list(root: URL, folder: string): readonly string[] {
  return readdirSync(new URL(`${folder}/`, root), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return entry.name.startsWith('.') ? [] : list(root, path)
    return /\.(tsx?|mjs)$/.test(entry.name) ? [path] : []
  })
}

export function toSource(path: string, text: string): Source {
  const code = text.replace(TOKENS, (token) => (isComment(token) ? '' : token))
  const bare = code.replace(TOKENS, empty)
  return {
    path,
    lines: text.split('\n').length - 1,
    text,
    code,
    bare,
    imports: importsOf(path, code),
    exports: exportsOf(code),
    isTest: /^(api\/blackbox|deploy\/dev\/architecture)\/|\/testing\/|\.test\.(tsx?|mjs)$/.test(path),
  }
}

const COMMENT = String.raw`\/\*[\s\S]*?\*\/|\/\/[^\n]*`
const STRING = String.raw`'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|${'`'}(?:\\.|[^${'`'}\\])*${'`'}`
// A slash starts a pattern only where a value is expected. No letter other than a flag follows the closing slash, which
// excludes the closing tags of JSX.
const PATTERN = String.raw`(?<=[(,=:[!&|?{};\n]\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[dgimsuvy]*(?![\w>])`
const TOKENS = new RegExp(`${COMMENT}|${STRING}|${PATTERN}`, 'g')

/** The regular expressions that appear in code as literals. */
export function patternLiterals(code: string): readonly RegExp[] {
  return (code.match(TOKENS) ?? [])
    .filter((token) => token.startsWith('/') && !isComment(token))
    .map(
      (token) => new RegExp(token.slice(1, token.lastIndexOf('/')), token.slice(token.lastIndexOf('/') + 1)),
    )
}

function isComment(token: string): boolean {
  return token.startsWith('//') || token.startsWith('/*')
}

/** Removes the text of a template and keeps its expressions. */
function empty(token: string): string {
  if (!token.startsWith('`')) return "''"
  return [...token.matchAll(/\$\{([^}]*)\}/g)].map(([, computed]) => `(${computed})`).join(' ') || "''"
}

const CLAUSE = String.raw`\*(?:\s+as\s+\w+)?|\{[^}]*\}|\w+(?:\s*,\s*\{[^}]*\})?`
const FROM = new RegExp(String.raw`^(?:import|export)\s+(type\s+)?(${CLAUSE})\s+from\s+'([^']+)'`, 'gm')
const BARE_OR_LAZY = /^import\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm

function importsOf(path: string, code: string): readonly Import[] {
  const named = [...code.matchAll(FROM)].map(([, type, clause = '', specifier = '']) => {
    const names = clause.startsWith('{') ? namesIn(clause) : [{ name: '*', isType: false }]
    const isTypeOnly = type !== undefined || names.every(({ isType }) => isType)
    return { ...resolve(path, specifier), isTypeOnly, isLazy: false, names: names.map(({ name }) => name) }
  })
  const whole = [...code.matchAll(BARE_OR_LAZY)].map(([, bare, lazy = '']) => {
    return { ...resolve(path, bare ?? lazy), isTypeOnly: false, isLazy: bare === undefined, names: ['*'] }
  })
  return [...named, ...whole]
}

function resolve(path: string, specifier: string): { target: string; isFile: boolean } {
  if (specifier.startsWith('.')) {
    // The build may import a file in another form: `./worker.ts?worker&url`.
    const [file = ''] = specifier.split('?')
    return { target: posix.join(posix.dirname(path), file), isFile: true }
  }
  const [scope = '', name = ''] = specifier.split('/')
  const isWhole = specifier.startsWith('node:')
  return { target: isWhole ? specifier : scope.startsWith('@') ? `${scope}/${name}` : scope, isFile: false }
}

function namesIn(clause: string): readonly Export[] {
  return clause
    .slice(1, -1)
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const isType = part.startsWith('type ')
      return { name: (isType ? part.slice(5) : part).split(/\s+as\s+/)[0] ?? '', isType }
    })
}

const DECLARED =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(const|let|function\*?|class|interface|type)\s+(\w+)/gm

function exportsOf(code: string): readonly Export[] {
  return [...code.matchAll(DECLARED)].map(([, kind = '', name = '']) => {
    return { name, isType: kind === 'interface' || kind === 'type' }
  })
}
