// The device-type file: read once at start. A wrong one stops the start with one line that names what to mend where.
import { readFileSync, statSync } from 'node:fs'
import { LineCounter, parseDocument, visit } from 'yaml'
import type { DeviceTypes } from '../../engine/domain/device-type/definition.ts'
import { loadDeviceTypes, type ParseFile, problemText } from '../../engine/domain/device-type/load.ts'
import type { Problem } from '../../engine/domain/device-type/reader.ts'
import { LIMITS } from '../../engine/limits.ts'

export type ReadTypes =
  | { readonly kind: 'read'; readonly types: DeviceTypes; readonly warnings: readonly string[] }
  /** One line. */
  | { readonly kind: 'wrong'; readonly line: string }

const PROBLEMS_SHOWN_MAX = 5

export function readDeviceTypes(path: string | undefined): ReadTypes {
  if (path === undefined) return { kind: 'read', types: new Map(), warnings: [] }
  const wrong = (what: string): ReadTypes => ({ kind: 'wrong', line: `FLEET_DEVICE_TYPES ${path}: ${what}` })
  let text: string
  try {
    // Looked at first: what is too large, or endless, is not read at all.
    const about = statSync(path)
    if (!about.isFile()) return wrong('is not a file')
    if (about.size > LIMITS.deviceTypeBytesMax)
      return wrong(`has ${about.size} bytes, at most ${LIMITS.deviceTypeBytesMax}`)
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
  } catch (error) {
    return wrong(reasonOf(error))
  }
  const loaded = loadDeviceTypes(text, parseYaml)
  if (loaded.kind === 'refused') return wrong(summaryOf(loaded.problems))
  return { kind: 'read', types: loaded.types, warnings: loaded.warnings.map(problemText) }
}

function summaryOf(problems: readonly Problem[]): string {
  const more = problems.length - PROBLEMS_SHOWN_MAX
  const shown = problems.slice(0, PROBLEMS_SHOWN_MAX).map(problemText)
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ').replaceAll(/\s+/g, ' ')
}

function reasonOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'is not UTF-8'
  return `cannot be read (${String(code ?? error)})`
}

/** Text to a value whose lines are known. Aliases are refused. */
const parseYaml: ParseFile = (text) => {
  try {
    return parse(text)
  } catch (error) {
    // The parser recurses: nesting that is deep enough ends its stack.
    if (!(error instanceof RangeError)) throw error
    return { kind: 'refused', problems: [{ line: undefined, path: '', message: 'is nested too deep' }] }
  }
}

function parse(text: string): ReturnType<ParseFile> {
  const lines = new LineCounter()
  const lineAt = (offset: number | undefined) => lines.linePos(offset ?? 0).line
  const document = parseDocument(text, {
    lineCounter: lines,
    schema: 'core',
    merge: false,
    uniqueKeys: true,
    prettyErrors: false,
    logLevel: 'error',
  })
  const problems: Problem[] = document.errors.map(({ pos, message }) => ({
    line: lineAt(pos[0]),
    path: '',
    message,
  }))
  visit(document, {
    Alias: (_key, { range, source }) => {
      problems.push({ line: lineAt(range?.[0]), path: '', message: `aliases are not allowed (*${source})` })
      return visit.BREAK
    },
  })
  if (problems.length > 0)
    return { kind: 'refused', problems: problems.slice(0, LIMITS.deviceTypeProblemsMax) }
  return {
    kind: 'parsed',
    value: document.toJS({ maxAliasCount: 0 }),
    lineOf(path) {
      for (let length = path.length; length > 0; length--) {
        // The package's own node type: a range, if it came from text.
        const node = document.getIn(path.slice(0, length), true) as { range?: [number] } | undefined
        if (node?.range !== undefined) return lineAt(node.range[0])
      }
      return document.contents === null ? undefined : lineAt(document.contents.range[0])
    },
  }
}
